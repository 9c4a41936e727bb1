"""Profile of a program by function, source line and instruction: time of warps, and their waits."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from ...hw.core.issue.stall_reason import StallReason
from ...hw.isa.assembly import disassemble
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
    """Return the section of a result: the program, its functions, source lines and instructions.

    Each has the completed warp instructions, and the cycles between two issues of a warp, which
    count for the second instruction, by the state of the warp. Code of the runtime that is inlined
    counts for the line that calls it. All are ordered by cycles, the most first. An instruction
    also has the instructions for whose results it waited.

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
    code = []
    waits = waits_by_reader(profiling)
    for number in map(int, np.flatnonzero(done + stalls.sum(axis=1).astype(np.uint64))):
        pc, is_code = profiling.first + 4 * number, number < len(done) - 1
        location = locator.at(pc) if is_code else None
        place = location or {"file": None, "line": None, "function": None, "text": None}
        places.add(
            (place["file"], place["line"], place["function"], place["text"]),
            int(done[number]),
            stalls[number],
        )
        if is_code:
            code.append({
                **assembly(program, pc),
                **{key: place[key] for key in ("file", "line", "function")},
                **summed(int(done[number]), stalls[number]),
                "waits": [
                    {**assembly(program, profiling.first + 4 * producer), "cycles": cycles}
                    for producer, cycles in waits[number].most_common()
                ],
            })
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
        "code": sorted(code, key=lambda row: -row["cycles"]),
    }


def waits_by_reader(profiling: Profiling) -> defaultdict[int, Counter[int]]:
    """Return the cycles that instructions waited for results, by place and by the writer's."""
    waits: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for (place, producer), cycles in profiling.waits().items():
        waits[place][producer] = cycles
    return waits


def assembly(program: Program, pc: int) -> dict[str, Any]:
    """Return the address and the assembly of an instruction."""
    word = program.word_at(pc)
    return {"address": pc, "assembly": "?" if word is None else disassemble(word)}


def summed(done: int, stalls: np.ndarray) -> dict[str, Any]:
    """Return instructions, cycles and cycles by state."""
    states = {name: int(stalls[reason]) for reason, name in STATES.items() if stalls[reason]}
    return {"instructions": done, "cycles": int(stalls.sum()), "states": states}


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
        rows = [(place, summed(count, stalls[place])) for place, count in done.items()]
        return sorted(rows, key=lambda item: -item[1]["cycles"])
