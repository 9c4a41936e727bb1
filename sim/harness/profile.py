"""Profile of warps: instructions and cycles by function of their program."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...kernels.inlining import CallChains
from ...kernels.program import Program
from .harness import Harness
from .interface import HARNESS
from .register_use import register_use

__all__ = ["POLLING", "FunctionProfile", "Profiling", "function_of", "polled"]

#: Functions of the runtime, and of products, in which a warp waits for a unit, or polls a register.
POLLING = (
    *("spica_tile_await", "virgo_await", "virgo_dma_fence", "virgo_fence", "vx_wspawn_wait"),
    "gemm_fence",
)


@dataclass(frozen=True)
class FunctionProfile:
    """Instructions and cycles of a function, including inlined functions of the runtime.

    Attributes
    ----------
    instructions : int
        Completed warp instructions.
    cycles : int
        Cycles from the completion of the previous instruction of the warp to that of each
        instruction, summed over all warps.

    """

    instructions: int
    cycles: int


class Profiling:
    """Profiles of all cores of a harness, from now until the cores restart.

    The cycles between two instructions of a warp count for the second, those of a wait at a barrier
    or for a unit for the instruction that waits. An inlined instruction
    counts for the innermost function of `POLLING` around it, else for the outermost function,
    which contains its code.

    Parameters
    ----------
    harness : Harness
        Harness of cores that have not started.
    program : Program
        Program that the cores will run.
    cores, threads : int
        Number of cores, and threads of their warps.

    """

    def __init__(self, harness: Harness, program: Program, *, cores: int, threads: int):
        self.library = harness.library
        self.program = program
        self.first = program.text_addresses.start
        add = self.library.harness_profile_add
        use = register_use(program, threads)
        self.profiles = [
            add(harness.handle, core, self.first, use, len(use)) for core in range(cores)
        ]

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return instructions and cycles, each uint64 of shape (cores, places).

        A place is a word of the program, counted from its first; the last place collects all
        other addresses.
        """
        places = self.library.profile_places(self.profiles[0])
        done = np.zeros((len(self.profiles), places), np.uint64)
        cycles = np.zeros_like(done)
        for core, profile in enumerate(self.profiles):
            self.library.profile_copy(profile, done[core], cycles[core])
        return done, cycles

    def stalls(self) -> np.ndarray:
        """Return the cycles that active warps spent before the issue of each place, by reason.

        uint64 of shape (cores, places, reasons), by `StallReason`. A warp that waits for nothing
        of its own, with reason `NONE`, issues or waits for its turn.
        """
        places = self.library.profile_places(self.profiles[0])
        reasons = HARNESS.constant("CoreState::kReasons")
        stalls = np.zeros((len(self.profiles), places, reasons), np.uint64)
        for core, profile in enumerate(self.profiles):
            self.library.profile_copy_stalls(profile, stalls[core])
        return stalls

    def waits(self) -> Counter[tuple[int, int]]:
        """Return the cycles that warps waited for a register, by its reader and its writer.

        Both are places. They are cycles of the reasons `SCOREBOARD` and `MEMORY` before the issue
        of the reader; the writer is the last to complete of those of its registers.
        """
        cycles_of: Counter[tuple[int, int]] = Counter()
        for profile in self.profiles:
            rows = (HARNESS.structure("RegisterWait") * self.library.profile_waits(profile))()
            self.library.profile_copy_waits(profile, rows)
            for row in rows:
                cycles_of[row.place, row.producer] += row.cycles
        return cycles_of

    def functions(self) -> dict[str, FunctionProfile]:
        """Return the profile of each function over all warps, most cycles first."""
        done, cycles = (counts.sum(axis=0) for counts in self.counts())
        chains = CallChains(self.program)
        spent: Counter[str] = Counter()
        count: Counter[str] = Counter()
        for place in np.flatnonzero(done):
            name = "elsewhere"
            if place < len(done) - 1:
                name = function_of(chains, self.program, self.first + 4 * int(place))
            spent[name] += int(cycles[place])
            count[name] += int(done[place])
        return {name: FunctionProfile(count[name], total) for name, total in spent.most_common()}


def polled(profile: Mapping[str, FunctionProfile]) -> FunctionProfile:
    """Return the sum of a profile over the functions of `POLLING`."""
    entries = [profile[name] for name in POLLING if name in profile]
    return FunctionProfile(
        sum(entry.instructions for entry in entries), sum(entry.cycles for entry in entries)
    )


def function_of(chains: CallChains, program: Program, pc: int) -> str:
    """Return the function for which an instruction counts."""
    for line in chains.at(pc):
        if line.function in POLLING:
            return line.function
    return program.function_of(pc) or "elsewhere"
