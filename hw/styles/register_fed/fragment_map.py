"""Map of fragments: registers and lanes of the numbers of A, B and C.

In warps of 8 threads lane l holds row l of A and column l of B, a word in each register, and C as
Virgo's machine does. Warps of 32 threads have the layout of ``mma.sync.m16n8k16``: word w of row r
of A is in register ``r / 8 + 2 (w / 4)`` of lane ``4 (r mod 8) + w mod 4``, word w of column c of B
in register ``w / 4`` of lane ``4 c + w mod 4``, and lane 4 g + t holds columns 2 t and 2 t + 1 of
rows g and g + 8 of C.
"""

from amaranth import *
from amaranth.lib import data

from .config import RegisterFedConfig

__all__ = ["column_of", "row_of", "words_of"]


def row_of(config: RegisterFedConfig, lane: int, register: Value) -> list[Value]:
    """Return the bits of the row of the accumulator `register` in `lane`, lowest first."""
    if config.threads == 8:
        return [Const(lane & 1), register[1], Const(lane >> 2 & 1)]
    return [*(Const(lane >> bit & 1) for bit in (2, 3, 4)), register[1]]


def column_of(config: RegisterFedConfig, lane: int, register: Value) -> list[Value]:
    """Return the bits of the column of the accumulator `register` in `lane`, lowest first."""
    if config.threads == 8:
        return [register[0], Const(lane >> 1 & 1), register[2]]
    return [register[0], Const(lane & 1), Const(lane >> 1 & 1)]


def words_of(
    config: RegisterFedConfig, registers: data.View, vector: int, number: Value
) -> list[Value]:
    """Return the words of a row of A or column of B in set `number`.

    `registers` are those of A or of B that hold the words of the set, see `step_registers`.
    """
    count = len(registers)
    if config.threads == 8:
        return [registers[word][vector] for word in range(config.step_words)]
    blocks = count // max(1, config.step_words // 4)  # registers for the same four words
    words = []
    for word in range(config.step_words):
        lanes = registers[vector // 8 % blocks + blocks * (word // 4)]
        lane = 4 * (vector % 8) + word % 4
        if config.step_words == 2:
            words.append(Mux(number[0], lanes[lane + 2], lanes[lane]))
        else:
            words.append(lanes[lane])
    return words
