"""Conversion of the C++ instruction counts to `Statistics`."""

import numpy as np

from ...hw.isa.instructions import INSTRUCTIONS
from ...hw.isa.operations import Unit
from .outcome import Statistics

__all__ = ["COUNT_WORDS", "statistics_of"]

#: Names of the counts after those of the mnemonics, which are in table order from word 1 on.
FURTHER = ("thread_instructions", "divergent_splits")
COUNT_WORDS = 1 + len(INSTRUCTIONS) + len(FURTHER)


def statistics_of(words: np.ndarray, core_instructions: tuple[int, ...]) -> Statistics:
    """Return the statistics in the words of ``iss_counts``."""
    numbers = words.tolist()[1:]
    counts = dict(zip(INSTRUCTIONS, numbers, strict=False))
    further = dict(zip(FURTHER, numbers[len(counts) :], strict=True))
    units = dict.fromkeys(Unit, 0)
    loads = 0
    for name, count in counts.items():
        instruction = INSTRUCTIONS[name]
        units[instruction.unit] += count
        if instruction.unit is Unit.LSU and instruction.writes is not None:
            loads += count
    return Statistics(
        instructions=sum(counts.values()),
        units=units,
        mnemonics={name: count for name, count in counts.items() if count},
        loads=loads,
        stores=units[Unit.LSU] - loads,
        barriers=counts["vx_bar"],
        core_instructions=core_instructions,
        **further,
    )
