"""Profile of a program by function and source line: time of warps and what they waited for."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ...hw.core.issue.stall_reason import StallReason
from ...kernels.program import Program
from ..harness.profile import Profiling
from .source_locations import Locator

__all__ = ["STATES", "source_profile"]

#: Key of the cycles in which a warp waits for nothing of its own: it issues, or another warp does.
READY = "ready"
#: Keys of the states of a warp before an issue; those of stalls are as for issue slots.
STATES = {reason: reason.name.lower() for reason in StallReason} | {StallReason.NONE: READY}
#: Sums of no place.
EMPTY: dict[str, Any] = {"instructions": 0, "cycles": 0, "states": {}}

#: File, line, function and text of a source line; each may be unknown.
Place = tuple[str | None, int | None, str | None, str | None]


def source_profile(program: Program, profiling: Profiling) -> dict[str, Any]:
    """Return the section of a result: the whole program, its functions and its source lines.

    Each has the completed warp instructions, and the cycles between two issues of a warp, which
    count for the second instruction, by the state of the warp. Code of the runtime that is inlined
    counts for the line that calls it. Functions and lines are ordered by cycles, the most first.

    Parameters
    ----------
    program : Program
        Program of the profile.
    profiling : Profiling
        Profile of a run.

    """
    locator, places = Locator(program), Places()
    done = profiling.counts()[0].sum(axis=0)
    stalls = profiling.stalls().sum(axis=0)
    for number in np.flatnonzero(done + stalls.sum(axis=1).astype(np.uint64)):
        found = None
        if number < len(done) - 1:
            found = locator.at(profiling.first + 4 * int(number))
        place = found or {"file": None, "line": None, "function": None, "text": None}
        places.add(
            (place["file"], place["line"], place["function"], place["text"]),
            int(done[number]),
            stalls[number],
        )
    return {
        **(places.sums(lambda place: ()) or [((), EMPTY)])[0][1],
        "functions": [
            {"function": function, "file": file} | sums
            for (file, function), sums in places.sums(lambda place: (place[0], place[2]))
        ],
        "lines": [
            {"file": file, "line": line, "function": function, "text": text} | sums
            for (file, line, function, text), sums in places.sums(lambda place: place)
        ],
    }


class Places:
    """Instructions and cycles by source line."""

    def __init__(self):
        self.done: Counter[Place] = Counter()
        self.stalls: dict[Place, np.ndarray] = {}

    def add(self, place: Place, done: int, stalls: np.ndarray):
        """Add the instructions and cycles of a word of the program."""
        self.done[place] += done
        self.stalls[place] = self.stalls.get(place, 0) + stalls.astype(np.int64)

    def sums(self, key: Callable[[Place], tuple]) -> list[tuple[tuple, dict[str, Any]]]:
        """Return the sums over places with the same key, by cycles, the most first."""
        done: Counter[tuple] = Counter()
        stalls: dict[tuple, np.ndarray] = {}
        for place, count in self.done.items():
            done[key(place)] += count
            stalls[key(place)] = stalls.get(key(place), 0) + self.stalls[place]
        found = [
            (
                each,
                {
                    "instructions": count,
                    "cycles": int(stalls[each].sum()),
                    "states": {
                        name: int(stalls[each][reason])
                        for reason, name in STATES.items()
                        if stalls[each][reason]
                    },
                },
            )
            for each, count in done.items()
        ]
        return sorted(found, key=lambda item: -item[1]["cycles"])
