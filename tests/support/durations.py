"""Recorded durations of test files, by which several workers schedule them.

``make durations`` runs all fast tests with nothing cached and writes ``durations.json``.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["makespan", "measured_durations", "name_of", "record", "recorded_durations"]

TESTS = Path(__file__).parents[1]
RECORD = TESTS / "durations.json"


def name_of(path: Path) -> str:
    """Return the name of a test file in the record: its path from the folder of tests."""
    return path.relative_to(TESTS).as_posix()


def recorded_durations() -> dict[str, float]:
    """Return the duration in seconds of each recorded test file."""
    return json.loads(RECORD.read_text())


def measured_durations(report: str) -> dict[str, float]:
    """Return the duration in seconds of each test file in a JUnit report of pytest."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.fromstring(report).iter("testcase"):
        file = "/".join(case.attrib["classname"].split(".")[1:]) + ".py"
        seconds[file] += float(case.attrib["time"])
    return dict(seconds)


def record(measured: Mapping[str, float]) -> None:
    """Record measured durations; records of other files stay while these files exist."""
    durations = {
        file: round(seconds, 1)
        for file, seconds in (recorded_durations() | dict(measured)).items()
        if (TESTS / file).exists()
    }
    RECORD.write_text(json.dumps(durations, indent=0, sort_keys=True) + "\n")


def makespan(durations: Iterable[float], workers: int) -> float:
    """Return the end of the last file if each goes to the worker that is free first."""
    ends = [0.0] * workers
    for seconds in sorted(durations, reverse=True):
        ends[ends.index(min(ends))] += seconds
    return max(ends)


if __name__ == "__main__":
    found = measured_durations(Path(sys.argv[1]).read_text())
    record(found)
    work, workers = sum(found.values()), int(sys.argv[2])
    print(f"{len(found)} files, {work:.0f} s; on {workers} workers at least {work / workers:.0f} s")
    print(f"scheduled by these durations: {makespan(found.values(), workers):.0f} s")
