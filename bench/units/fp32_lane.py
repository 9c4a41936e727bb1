"""FP32 lane of a core: multiply-adds, comparisons, signs, classes and conversions."""

import numpy as np

from spica.hw.arith.float.rounding import Rounding
from spica.hw.config.formats import FP32, INT32
from spica.hw.core.units.fp32.float_lanes import FloatLanes, FloatLanesConfig
from spica.hw.isa.operations import FloatOperation
from spica.sim.golden.arith.float.floats import corners, encode
from spica.sim.golden.arith.float.narrow import widen
from spica.sim.golden.core.units.float_units import float_operation
from spica.sim.golden.core.units.fp32.narrow_cast import NARROWING, WIDENING, form_of

from .operands.floats import Operands, random_bits
from .operands.fma import fma_operands
from .operands.narrow import narrowing_operands, widening_operands
from .per_operation import per_operation
from .unit import Unit

__all__ = [
    "HALVES",
    "INSTRUCTIONS",
    "float_by_gfloat",
    "float_by_qemu",
    "float_operands",
    "integers",
    "near_integers",
    "related_pairs",
    "units",
]

FROM_INTEGER = {
    FloatOperation.FROM_SIGNED: "fcvt.s.w",
    FloatOperation.FROM_UNSIGNED: "fcvt.s.wu",
}
TO_INTEGER = {FloatOperation.TO_SIGNED: "fcvt.w.s", FloatOperation.TO_UNSIGNED: "fcvt.wu.s"}
#: Instruction of each operation that QEMU has, except MOVE, which has several.
INSTRUCTIONS = {
    **{one: f"{one.name.lower()}.s" for one in FloatOperation if one <= FloatOperation.FMUL},
    **{FloatOperation[f"SGNJ{kind}"]: f"fsgnj{kind.lower()}.s" for kind in ("", "N", "X")},
    **{FloatOperation[name]: f"f{name.lower()}.s" for name in ("MIN", "MAX", "LE", "LT", "EQ")},
    FloatOperation.CLASS: "fclass.s",
    **TO_INTEGER,
    **FROM_INTEGER,
}
#: Instructions of the conversions from and to 16-bit formats.
HALVES = {
    FloatOperation.TO_FP16: "fcvt.h.s",
    FloatOperation.TO_BF16: "fcvt.bf16.s",
    FloatOperation.PACK_FP16: "fpack.h.s",
    FloatOperation.PACK_BF16: "fpack.bf16.s",
    FloatOperation.FROM_FP16: "fcvt.s.h",
    FloatOperation.FROM_BF16: "fcvt.s.bf16",
    FloatOperation.LOW_FP16: "funpackl.s.h",
    FloatOperation.LOW_BF16: "funpackl.s.bf16",
    FloatOperation.HIGH_FP16: "funpackh.s.h",
    FloatOperation.HIGH_BF16: "funpackh.s.bf16",
}


def related_pairs(rng: np.random.Generator, count: int) -> Operands:
    """Return two operands; half of the pairs have equal or neighbouring magnitudes."""
    a, b = random_bits(rng, FP32, count), random_bits(rng, FP32, count)
    beside = (a.astype(np.int64) + rng.integers(-1, 2, count)) & FP32.magnitude_mask
    beside |= rng.integers(0, 2, count) << FP32.magnitude_width
    return a, np.where(rng.random(count) < 0.5, beside, b).astype(np.uint32)


def integers(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return integers of all lengths, ties and powers of two, of either sign."""
    uniform = rng.integers(0, 1 << 32, count) >> rng.integers(0, 32, count)
    # Slightly more than 24 bits: whole units, ties, and their neighbours.
    length = rng.integers(24, 33, count)
    units = rng.integers(1 << 23, 1 << 24, count) << length - 24
    near_tie = units + (1 << length - 24 >> 1) + rng.integers(-1, 2, count)
    corner = rng.choice(corners(INT32), count).astype(np.int64)
    value = np.choose(rng.integers(0, 4, count), [uniform, near_tie, units, corner])
    value = np.where(rng.random(count) < 0.5, -value, value)
    return (value & 0xFFFF_FFFF).astype(np.uint32)


def near_integers(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return floats, half near integers, half-integers and the ends of the ranges."""
    eighths = rng.integers(-40, 41, count) / 8
    whole = integers(rng, count).view(np.int32).astype(np.float64) * rng.choice([0.5, 1, 2], count)
    value = np.where(rng.random(count) < 0.4, eighths, whole)
    beside = encode(value, FP32).astype(np.int64) + rng.integers(-1, 2, count)
    i = np.where(rng.random(count) < 0.6, beside & 0xFFFF_FFFF, random_bits(rng, FP32, count))
    # Few exponents lie between the first fraction bits and the ends of the range.
    exponent = rng.integers(FP32.bias - 3, FP32.bias + 34, count) << FP32.fraction_width
    inside = i & ~(FP32.exponent_mask << FP32.fraction_width) | exponent
    return np.where(rng.random(count) < 0.3, inside, i).astype(np.uint32)


def float_operands(operation: FloatOperation, rng: np.random.Generator, count: int) -> Operands:
    """Return three operands that reveal errors of an operation."""
    a, b, c = fma_operands(rng, count)
    if operation in TO_INTEGER:
        a = near_integers(rng, count)
    elif operation in FROM_INTEGER:
        a = integers(rng, count)
    elif operation in NARROWING:
        a, b = narrowing_operands(rng, count), narrowing_operands(rng, count)
    elif operation in WIDENING:
        a = widening_operands(rng, count)
    elif operation > FloatOperation.FMUL:
        a, b = related_pairs(rng, count)
    return a, b, c


def float_by_qemu(operation: FloatOperation, a, b, c, rounding) -> tuple[np.ndarray, np.ndarray]:
    """Return QEMU's results and flags of one operation with an instruction."""
    from ..oracle.qemu import OPERATIONS, qemu

    instruction = INSTRUCTIONS[operation]
    (_, operands), *_ = OPERATIONS[instruction]
    return qemu(instruction, *(a, b, c)[:operands], rounding=rounding)


def float_by_gfloat(operation: FloatOperation, a, b, rounding) -> tuple[np.ndarray, np.ndarray]:
    """Return results and flags of a conversion from or to a 16-bit format, by gfloat."""
    from ..oracle.narrow_formats import narrow_by_gfloat, widen_by_gfloat

    kind, form = operation.name.partition("_")[0], form_of(operation)
    if kind in ("TO", "PACK"):
        low, flags = narrow_by_gfloat(a, form, rounding)
        high, more = narrow_by_gfloat(b, form, rounding)
        if kind == "TO":
            return low | np.uint32(0xFFFF_0000), flags
        return low | high << np.uint32(16), flags | more
    half = a >> np.uint32(16) if kind == "HIGH" else a & np.uint32(0xFFFF)
    if kind == "FROM":
        half = np.where(a >> np.uint32(16) == 0xFFFF, half, form.nan)
    return widen_by_gfloat(half, form)


def float_by_oracles(operation: FloatOperation, a, b, c, rounding) -> tuple[np.ndarray, np.ndarray]:
    """Return results and flags of an operation by the library that has it."""
    if operation in HALVES:
        return float_by_gfloat(operation, a, b, rounding)
    return float_by_qemu(operation, a, b, c, rounding)


def stimulus(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Return operations with an instruction in random order, their operands, and modes."""
    operation = rng.choice([*INSTRUCTIONS, *HALVES], count)
    operands = np.zeros((3, count), np.uint32)
    for one in (*INSTRUCTIONS, *HALVES):
        chosen = operation == one
        operands[:, chosen] = float_operands(one, rng, int(np.count_nonzero(chosen)))
    rounding = rng.integers(0, len(Rounding), count)
    lanes = {name: x[:, np.newaxis] for name, x in zip("abc", operands, strict=True)}
    return {"operation": operation, "rounding": rounding, **lanes}


def every_half() -> dict[str, np.ndarray]:
    """Return every 16-bit number for each conversion from it, and its value for each to it.

    The second operand of a conversion to 16 bits is halfway to the next number. Rounding modes
    take turns.
    """
    codes = np.arange(1 << 16, dtype=np.uint32)
    parts = []
    for operation in WIDENING:
        place = 16 if operation.name.startswith("HIGH") else 0
        above = np.uint32(0xFFFF_0000) if operation.name.startswith("FROM") else codes << 16
        a = codes << 16 | codes ^ 0xFFFF if place else codes | above
        parts.append((operation, a, a))
    for operation in NARROWING:
        form = form_of(operation)
        a = widen(codes, form)[0]
        half = 1 << FP32.fraction_width - form.fraction_width - 1
        parts.append((operation, a, a + np.uint32(half)))
    operation, a, b = (
        np.concatenate(columns)
        for columns in zip(*((np.full(len(a), one), a, b) for one, a, b in parts), strict=True)
    )
    rounding = np.arange(len(a)) % len(Rounding)
    lanes = {name: x[:, np.newaxis] for name, x in (("a", a), ("b", b), ("c", b))}
    return {"operation": operation, "rounding": rounding, **lanes}


def outputs(model, operation, rounding, **lanes) -> dict[str, np.ndarray]:
    """Return the outputs of the one lane by a model of single operations."""
    operands = (lanes[name][:, 0] for name in "abc")
    results = per_operation(
        lambda one, *arrays: model(FloatOperation(one), *arrays), operation, *operands, rounding
    )
    return {name: values[:, np.newaxis] for name, values in results.items()}


def units() -> list[Unit]:
    """Return the unit."""
    config = FloatLanesConfig()
    return [
        Unit(
            name="fp32_lane",
            group="Lanes of a core",
            component=lambda: FloatLanes(config),
            latency=config.latency,
            operands=stimulus,
            golden=lambda **inputs: outputs(float_operation, **inputs),
            oracle="QEMU, gfloat",
            reference=lambda **inputs: outputs(float_by_oracles, **inputs),
            exhaustive=every_half,
        )
    ]
