"""Golden models of a core's floating-point, divide and special units."""

from collections.abc import Callable

import numpy as np

from .....hw.arith.float.fma import FmaOperation
from .....hw.arith.float.rounding import Rounding
from .....hw.config import PipelineConfig
from .....hw.isa.operations import DivideOperation, FloatOperation
from ...arith.float.division import divide, square_root
from ...arith.float.fma import fma
from ...arith.special.special_function import special_function
from ...arith.stored import require_members
from .fp32.float_conversion import from_integer, to_integer
from .fp32.narrow_cast import NARROWING, WIDENING, from_half, to_halves
from .fp32.non_computational import classify, compare, sign_inject

__all__ = [
    "divide_operation",
    "divide_result",
    "float_operation",
    "fp32_result",
    "special_result",
]

COMPARISONS = (
    *(FloatOperation.MIN, FloatOperation.MAX),
    *(FloatOperation.LE, FloatOperation.LT, FloatOperation.EQ),
)
FROM = (FloatOperation.FROM_SIGNED, FloatOperation.FROM_UNSIGNED)
TO = (FloatOperation.TO_SIGNED, FloatOperation.TO_UNSIGNED)

#: Results and flags of one operation on whole arrays.
Pair = tuple[np.ndarray, np.ndarray]


def float_operation(
    operation: FloatOperation, a, b, c, rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN
) -> Pair:
    """Return the result of `operation` on stored bits, and the flags (both uint32)."""
    require_members("operation", operation, FloatOperation)
    require_members("rounding", rounding, Rounding)
    a, b, c = (np.asarray(x, np.uint32) for x in (a, b, c))
    none = np.zeros(a.shape, np.uint32)
    if operation <= FloatOperation.FMUL:
        return fma(FmaOperation(operation), a, b, c, rounding)
    if operation in COMPARISONS:
        return compare(operation, a, b)
    if operation in FROM:
        return from_integer(a, operation == FloatOperation.FROM_SIGNED, rounding)
    if operation in TO:
        return to_integer(a, operation == FloatOperation.TO_SIGNED, rounding)
    if operation in NARROWING:
        return to_halves(operation, a, b, rounding)
    if operation in WIDENING:
        return from_half(operation, a)
    if operation == FloatOperation.CLASS:
        return classify(a), none
    return (a if operation == FloatOperation.MOVE else sign_inject(operation, a, b)), none


def divide_operation(
    operation: DivideOperation, a, b, rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN
) -> Pair:
    """Return quotients, remainders or roots of stored bits, and the flags (both uint32)."""
    require_members("operation", operation, DivideOperation)
    require_members("rounding", rounding, Rounding)
    a, b = np.asarray(a, np.uint32), np.asarray(b, np.uint32)
    if operation == DivideOperation.FDIV:
        return divide(a, b, rounding)
    if operation == DivideOperation.FSQRT:
        return square_root(a, rounding)
    is_signed = operation in (DivideOperation.DIV, DivideOperation.REM)
    kind = np.int32 if is_signed else np.uint32
    dividend, divisor = (x.astype(kind).astype(np.int64) for x in (a, b))
    is_number = divisor != 0
    # Rounded towards zero, unlike Python's integer division.
    quotient = np.abs(dividend) // np.where(is_number, np.abs(divisor), 1)
    quotient = np.where((dividend < 0) != (divisor < 0), -quotient, quotient)
    quotient = np.where(is_number, quotient, -1)
    remainder = np.where(is_number, dividend - quotient * divisor, dividend)
    result = remainder if operation in (DivideOperation.REM, DivideOperation.REMU) else quotient
    return (result & 0xFFFF_FFFF).astype(np.uint32), np.zeros(a.shape, np.uint32)


def fp32_result(config: PipelineConfig, payload: dict) -> dict:
    """Return the result of one warp's operation on port FP32, in terms of the layouts.

    Values of inactive threads are undefined in the RTL and 0 here.
    """
    operation = FloatOperation(payload["operation"])
    return result(
        config, payload, lambda a, b, c: float_operation(operation, a, b, c, payload["rounding"])
    )


def divide_result(config: PipelineConfig, payload: dict) -> dict:
    """Return the result of one warp's operation on port DIVIDE; see `fp32_result`."""
    operation = DivideOperation(payload["operation"])
    return result(
        config, payload, lambda a, b, _: divide_operation(operation, a, b, payload["rounding"])
    )


def special_result(config: PipelineConfig, payload: dict) -> dict:
    """Return the result of one warp's operation on port SPECIAL; see `fp32_result`."""

    def operation(a, b, c) -> Pair:
        values = special_function(np.full(len(a), payload["operation"]), a)
        return values, np.zeros(len(a), np.uint32)

    return result(config, payload, operation)


def result(config: PipelineConfig, payload: dict, operation: Callable[..., Pair]) -> dict:
    """Return the result of a warp whose threads all execute `operation`."""
    active = np.array([payload["mask"] >> thread & 1 for thread in range(config.threads)], bool)
    values, flags = operation(*(np.array(x, np.uint32) for x in payload["operands"]))
    return {
        **{name: payload[name] for name in ("warp", "mask", "pc", "rd", "writes")},
        "flags": int(np.bitwise_or.reduce(flags[active], initial=np.uint32(0))),
        "values": np.where(active, values, 0).tolist(),
    }
