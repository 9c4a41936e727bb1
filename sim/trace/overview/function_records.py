"""Recorder of the functions whose instructions the cores complete, over time."""

import numpy as np

from ....kernels.inlining import CallChains
from ....kernels.program import Program
from ...harness.harness import Harness
from ...harness.profile import function_of
from .activity_records import ALL, BINS, INTERVALS, ClusterRecords, fetched, recording_limits

__all__ = ["FunctionRecording", "series_name"]


class FunctionRecording:
    """Recorders of all cores of a harness, active from its next cycle on.

    Each function of the program is a series of each core: the instructions completed per cycle. An
    inlined instruction counts as in `Profiling`.

    Parameters
    ----------
    harness : Harness
        Harness of cores.
    cores : int
        Number of cores.
    program : Program
        Program that the cores run.
    window : tuple of int
        First recorded cycle and the cycle after the last; all by default.

    """

    def __init__(
        self, harness: Harness, cores: int, program: Program, window: tuple[int, int] = ALL
    ):
        self.library = harness.library
        words = program.text_addresses[::4]
        chains = CallChains(program)
        names = [function_of(chains, program, pc) for pc in words]
        self.names = list(dict.fromkeys([*names, "elsewhere"]))
        numbers = {name: number for number, name in enumerate(self.names)}
        table = np.array([numbers[name] for name in (*names, "elsewhere")], np.uint32)
        limits = recording_limits(window, BINS, INTERVALS)
        add = self.library.harness_function_recorder_add
        self.recorders = [
            add(harness.handle, core, words.start, table, len(table), len(self.names), limits)
            for core in range(cores)
        ]

    def fetch(self) -> list[ClusterRecords]:
        """Return the records of each core so far; series have the names of `series_name`."""
        records = []
        for core, recorder in enumerate(self.recorders):
            names = [series_name(core, name) for name in self.names]
            records.append(fetched(self.library, recorder, names, names))
        return records


def series_name(core: int, function: str) -> str:
    """Return the name of the series of a function on a core."""
    return f"core{core}_in_{function}"
