"""Bit-parallel evaluation of a mapped netlist: toggles of every net, and cycles with wrong values.

One machine word holds 64 cycles of a net. This is possible since the values of all registers,
ports and memories come from a recorded run: no cycle depends on the one before it.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...base.build_cache import cached, digest
from ...base.compiler import compile_all, find_compiler, link, processor
from ...base.native_interface import NativeInterface, NativeLibrary
from .program import Program

__all__ = ["WORD", "Activity", "evaluate_program", "pack_cycles", "unpack_cycles"]

#: Cycles of a net in one machine word.
WORD = 64
SOURCE = Path(__file__).with_name("native") / "evaluator.cpp"
EVALUATOR = NativeInterface(SOURCE)
FLAGS = ("-std=c++20", "-fPIC", "-Wall", "-Wextra")

Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Activity:
    """Result of an evaluation.

    Parameters
    ----------
    toggles : array of uint64
        Toggles of each net in the counted cycles.
    weighted : array of float
        Sum of the weights of these toggles in each word of 64 cycles.
    wrong : array of bool
        For each cycle, whether a compared slot differed from its expected value.
    observed : array of bool
        A row for each observed slot, its value in each cycle.

    """

    toggles: NDArray[np.uint64]
    weighted: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    observed: NDArray[np.bool_]


def pack_cycles(values: NDArray[np.bool_]) -> Words:
    """Return rows of bits, one per cycle, as rows of words; bit n of word w is cycle 64w + n."""
    packed = np.packbits(values, axis=-1, bitorder="little")
    size = packed.shape[-1]
    padded = np.zeros((*packed.shape[:-1], size + -size % 8), np.uint8)
    padded[..., :size] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack_cycles(words: Words, cycles: int) -> NDArray[np.bool_]:
    """Return rows of words as rows of bits."""
    data = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(data, axis=-1, bitorder="little", count=cycles).astype(bool)


def evaluate_program(
    program: Program,
    values: Words,
    counted: NDArray[np.bool_],
    compared: Sequence[int] = (),
    expected: Words | None = None,
    observed: Sequence[int] = (),
    weights: NDArray[np.float64] | None = None,
) -> Activity:
    """Evaluate a netlist in all cycles, and return the activity.

    Parameters
    ----------
    program : Program
        The netlist.
    values : array of words
        A row for each net of `program.driven`, as `pack_cycles` returns them.
    counted : array of bool
        For each cycle, whether a change since the cycle before it counts as a toggle: false in the
        first cycle of every window.
    compared : sequence of int
        Slots to compare, nets or next states.
    expected : array of words or None
        A row of expected values for each of them.
    observed : sequence of int
        Slots whose values to return.
    weights : array of float or None
        Weight of a toggle of each net; None for 0.

    """
    cycles = len(counted)
    words = -(-cycles // WORD)
    if expected is None:
        expected = np.zeros((0, words), np.uint64)
    for name, rows, count in (
        ("values", values, len(program.driven)),
        ("expected", expected, len(compared)),
    ):
        if rows.shape != (count, words):
            raise ValueError(f"{name} must be {count} x {words} words, not {rows.shape}")
    if weights is None:
        weights = np.zeros(program.nets)
    elif weights.shape != (program.nets,):
        raise ValueError(f"weights must be {program.nets} numbers, not {weights.shape}")
    toggles, wrong = np.zeros(program.nets, np.uint64), np.zeros(words, np.uint64)
    operations = np.ascontiguousarray(program.operations)
    seen, weighted = np.zeros((len(observed), words), np.uint64), np.zeros(words)
    library().evaluate_netlist(
        *(operations, len(operations), program.nets, program.slots),
        *(np.array(program.driven, np.uint32), len(program.driven)),
        *(np.ascontiguousarray(values), np.array(compared, np.uint32)),
        *(len(compared), np.ascontiguousarray(expected)),
        *(np.array(observed, np.uint32), len(observed), seen, words),
        *(pack_cycles(counted), np.ascontiguousarray(weights, np.float64)),
        *(toggles, weighted, wrong),
    )
    return Activity(
        toggles=toggles,
        weighted=weighted,
        wrong=unpack_cycles(wrong, cycles),
        observed=unpack_cycles(seen, cycles),
    )


@functools.cache
def library() -> NativeLibrary:
    """Return the compiled evaluator; one build serves all netlists."""
    compiler = find_compiler()
    flags = [*FLAGS, *compiler.flags(2)]

    def build(directory: Path):
        compiled = directory / "evaluator.o"
        compile_all(compiler, [(SOURCE, compiled, flags)])
        link(compiler, [compiled], directory / "evaluator.so")
        compiled.unlink()

    key = digest([
        *(SOURCE.read_text(), *compiler.command, compiler.version),
        *(*flags, processor()),
    ])
    return NativeLibrary(cached("evaluator", key, build) / "evaluator.so", EVALUATOR)
