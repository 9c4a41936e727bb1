"""Recorded durations of test files, by tier: several workers schedule them, budgets limit them.

``make durations`` runs the quick and the full tier with nothing cached and writes
``durations.json``. Processor time of child processes counts as builds: compilers, Verilator and
Yosys are child processes.
"""

import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from xml.etree import ElementTree

from support.tiers import TIERS

__all__ = [
    "FileCost",
    "ProcessorTime",
    "makespan",
    "measured_costs",
    "name_of",
    "record",
    "recorded_costs",
    "recorded_durations",
    "recorded_tiers",
    "recorded_wall",
]

TESTS = Path(__file__).parents[1]
RECORD = TESTS / "durations.json"


@dataclass(frozen=True)
class FileCost:
    """Cost of a test file in seconds.

    `wall` is elapsed, `builds` processor time of child processes, `longest` the processor time of
    its longest test without child processes.
    """

    wall: float
    builds: float = 0.0
    longest: float = 0.0

    def with_test(self, wall: float, builds: float, processor: float) -> "FileCost":
        """Return the cost with one more test."""
        return FileCost(self.wall + wall, self.builds + builds, max(self.longest, processor))

    def rounded(self) -> list[float]:
        """Return the values of the record, to a tenth of a second."""
        return [round(value, 1) for value in astuple(self)]


class ProcessorTime:
    """Processor time of the running test: of this process, and of its child processes."""

    NAMES = ("processor_seconds", "build_seconds")

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.start = os.times()

    def properties(self) -> list[tuple[str, object]]:
        """Return the seconds since the start as properties of a JUnit report."""
        own, children = (
            sum(after - before for before, after in zip(self.start[at], now, strict=True))
            for at, now in ((slice(0, 2), os.times()[:2]), (slice(2, 4), os.times()[2:4]))
        )
        return list(zip(self.NAMES, (round(own, 3), round(children, 3)), strict=True))


def name_of(path: Path) -> str:
    """Return the name of a test file in the record: its path from the folder of tests."""
    return path.relative_to(TESTS).as_posix()


def recorded_costs(tier: str) -> dict[str, FileCost]:
    """Return the cost of each recorded test file in a tier."""
    files = json.loads(RECORD.read_text()).get(tier, {}).get("files", {})
    return {file: FileCost(*values) for file, values in files.items()}


def recorded_durations(tier: str) -> dict[str, float]:
    """Return the duration in seconds of each recorded test file in a tier."""
    return {file: cost.wall for file, cost in recorded_costs(tier).items()}


def recorded_tiers() -> set[str]:
    """Return the tiers that have been recorded."""
    return set(json.loads(RECORD.read_text()))


def recorded_wall(tier: str) -> float:
    """Return the recorded duration of a tier in seconds, of the command as a whole."""
    return json.loads(RECORD.read_text())[tier]["wall"]


def measured_costs(report: str) -> dict[str, FileCost]:
    """Return the cost of each test file in a JUnit report of pytest."""
    costs: dict[str, FileCost] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        file = "/".join(case.attrib["classname"].split(".")[1:]) + ".py"
        properties = {
            entry.attrib["name"]: entry.attrib["value"] for entry in case.iter("property")
        }
        processor, builds = (float(properties.get(name, 0)) for name in ProcessorTime.NAMES)
        cost = costs.get(file, FileCost(0.0))
        costs[file] = cost.with_test(float(case.attrib["time"]), builds, processor)
    return costs


def record(tier: str, measured: Mapping[str, FileCost], wall: float | None = None) -> None:
    """Record the costs of files and the duration of a tier; other records stay.

    Records of files that no longer exist are removed.
    """
    tiers = json.loads(RECORD.read_text())
    files = {file: cost.rounded() for file, cost in (recorded_costs(tier) | {**measured}).items()}
    known = {file: values for file, values in files.items() if (TESTS / file).exists()}
    before = tiers.get(tier, {})
    tiers[tier] = {
        "wall": before.get("wall", 0) if wall is None else round(wall, 1),
        "files": dict(sorted(known.items())),
    }
    text = json.dumps(tiers, indent=1, sort_keys=True)
    RECORD.write_text(one_line_each(text) + "\n")


def one_line_each(text: str) -> str:
    """Return indented JSON with each list of numbers on one line."""
    return re.sub(r"\[[^\[\]]*\]", lambda match: json.dumps(json.loads(match[0])), text)


def makespan(durations: Iterable[float], workers: int) -> float:
    """Return the end of the last file if each goes to the worker that is free first."""
    ends = [0.0] * workers
    for seconds in sorted(durations, reverse=True):
        ends[ends.index(min(ends))] += seconds
    return max(ends)


def main(tier: str, report: str, workers: str, started: str) -> None:
    """Record a JUnit report; `started` is the time at which the tier's command began."""
    if tier not in TIERS:
        raise SystemExit(f"the tier must be one of {', '.join(TIERS)}, not {tier!r}")
    costs = measured_costs(Path(report).read_text())
    wall = time.time() - float(started)
    record(tier, costs, wall)
    work, builds = (
        sum(getattr(cost, name) for cost in costs.values()) for name in ("wall", "builds")
    )
    print(f"{tier}: {wall:.0f} s with lint; {len(costs)} files, {work:.0f} s of tests")
    print(f"processor time of builds {builds:.0f} s")
    end = makespan((cost.wall for cost in costs.values()), int(workers))
    print(f"scheduled by these durations on {workers} workers: {end:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
