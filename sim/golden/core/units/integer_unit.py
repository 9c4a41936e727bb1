"""Golden model of the integer unit: values, and targets of branches and jumps."""

from dataclasses import dataclass

import numpy as np

from .....hw.isa.operations import EXCHANGES
from .....hw.isa.operations import IntegerOperation as Op
from .exchange import exchange

__all__ = ["Executed", "Warps", "compute", "execute", "is_taken"]

JUMPS = (Op.JAL, Op.JALR)
BRANCHES = (Op.BEQ, Op.BNE, Op.BLT, Op.BGE, Op.BLTU, Op.BGEU)


@dataclass(frozen=True, kw_only=True)
class Warps:
    """Instructions with their operands, along the first axis of each array.

    Parameters
    ----------
    operation, pc, immediate : arrays
    a_is_pc, b_is_immediate : arrays of bool
    mask : array of bool, by thread
    a, b : arrays of uint32, by thread

    """

    operation: np.ndarray
    pc: np.ndarray
    immediate: np.ndarray
    a_is_pc: np.ndarray
    b_is_immediate: np.ndarray
    mask: np.ndarray
    a: np.ndarray
    b: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Executed:
    """Results of `Warps`.

    Parameters
    ----------
    values : array of uint32, by thread
        0 for branches, which have no result.
    branches : array of bool
        True for branches and jumps; for other instructions the following fields are undefined.
    target : array of uint32
        Target of the last active thread.
    disagree : array of bool, by thread
        Active threads with another target.

    """

    values: np.ndarray
    branches: np.ndarray
    target: np.ndarray
    disagree: np.ndarray


def compute(operation: Op, a, b) -> np.ndarray:
    """Return the result of arithmetic on arrays of registers, uint32."""
    a, b = np.asarray(a, np.uint32), np.asarray(b, np.uint32)
    wide_a, wide_b = a.astype(np.uint64), b.astype(np.uint64)
    signed_a, signed_b = (x.astype(np.int32).astype(np.int64) for x in (a, b))
    places = wide_b & np.uint64(31)
    results = {
        Op.ADD: lambda: wide_a + wide_b,
        Op.SUB: lambda: signed_a - signed_b,
        Op.SLL: lambda: wide_a << places,
        Op.SLT: lambda: signed_a < signed_b,
        Op.SLTU: lambda: wide_a < wide_b,
        Op.XOR: lambda: wide_a ^ wide_b,
        Op.SRL: lambda: wide_a >> places,
        Op.SRA: lambda: signed_a >> places.astype(np.int64),
        Op.OR: lambda: wide_a | wide_b,
        Op.AND: lambda: wide_a & wide_b,
        Op.MUL: lambda: signed_a * signed_b,
        Op.MULH: lambda: signed_a * signed_b >> 32,
        Op.MULHSU: lambda: signed_a * wide_b.astype(np.int64) >> 32,
        Op.MULHU: lambda: wide_a * wide_b >> np.uint64(32),
    }
    return (results[operation]().astype(np.int64) & 0xFFFF_FFFF).astype(np.uint32)


def is_taken(operation: Op, a, b) -> np.ndarray:
    """Return True for each branch that is taken on these registers."""
    a, b = np.asarray(a, np.uint32), np.asarray(b, np.uint32)
    less, less_unsigned = a.astype(np.int32) < b.astype(np.int32), a < b
    return {
        Op.BEQ: a == b,
        Op.BNE: a != b,
        Op.BLT: less,
        Op.BGE: ~less,
        Op.BLTU: less_unsigned,
        Op.BGEU: ~less_unsigned,
    }[operation]


def execute(warps: Warps) -> Executed:
    """Execute every instruction; every warp has at least one active thread."""
    pc, immediate = (x.astype(np.uint32)[:, None] for x in (warps.pc, warps.immediate))
    a = np.where(warps.a_is_pc[:, None], pc, warps.a)
    b = np.where(warps.b_is_immediate[:, None], immediate, warps.b)
    following = np.broadcast_to(pc + np.uint32(4), a.shape)
    values, goes_to = np.zeros_like(a), following.copy()
    is_unlike = np.zeros(a.shape, bool)
    last = a.shape[1] - 1 - np.argmax(warps.mask[:, ::-1], axis=1)[:, None]

    for operation in map(Op, np.unique(warps.operation)):
        here = warps.operation == operation
        if operation in BRANCHES:
            taken_lanes = is_taken(operation, a[here], b[here])
            goes_to[here] = np.where(taken_lanes, (pc + immediate)[here], following[here])
            is_unlike[here] = taken_lanes != np.take_along_axis(taken_lanes, last[here], axis=1)
        elif operation in JUMPS:
            values[here] = following[here]
            goes_to[here] = pc[here] + immediate[here]
            if operation == Op.JALR:
                goes_to[here] = (a[here] + immediate[here]) & ~np.uint32(1)
            chosen = np.take_along_axis(goes_to[here], last[here], axis=1)
            is_unlike[here] = goes_to[here] != chosen
        elif operation in EXCHANGES:
            values[here] = exchange(operation, a[here], b[here], warps.mask[here])
        else:
            values[here] = compute(operation, a[here], b[here])
    return Executed(
        values=values,
        branches=np.isin(warps.operation, [*BRANCHES, *JUMPS]),
        target=np.take_along_axis(goes_to, last, axis=1)[:, 0],
        disagree=is_unlike & warps.mask,
    )
