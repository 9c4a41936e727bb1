"""Tests of tiers of tests, of recorded durations, and of schedules by them."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import durations
from support.durations import (
    FileCost,
    makespan,
    recorded_costs,
    recorded_durations,
    recorded_tiers,
    recorded_wall,
)
from support.tiers import FULL_TIER, QUICK_TIER, REST_TIER

TESTS = Path(__file__).parents[1]
MODULE = """
import pytest

@pytest.mark.parametrize("b", [3, 4])
@pytest.mark.parametrize("a", ["x", "y"])
@pytest.mark.quick({patterns})
def test_cases(a, b): pass

@pytest.mark.full
def test_long(): pass

@pytest.mark.slow
def test_longer(): pass

def test_short(): pass
"""


def collected(folder: Path, selection: str, *more: str) -> tuple[set[str], str]:
    """Return the names of the tests that a selection collects, and the output."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", selection, *more]
    command += ["-c", str(TESTS.parent / "pyproject.toml"), "-p", "no:randomly", str(folder)]
    run = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    matches = re.findall(r"test_(\w+)\.py(::\S.*)", run.stdout)
    return {name + test for name, test in matches}, run.stdout


@pytest.fixture
def folder_of(tmp_path):
    """Write a module for each name, whose cases are marked with its patterns; return the folder."""

    def write(modules: dict[str, str]) -> Path:
        (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
        for name, patterns in modules.items():
            (tmp_path / f"test_{name}.py").write_text(MODULE.format(patterns=patterns))
        return tmp_path

    return write


#: Patterns of a mark by the name of a module, and the cases that they choose.
CHOSEN = {
    "first": ('"x-*"', {"x-3", "x-4"}),
    "second": ('"*-4", "y-3"', {"x-4", "y-4", "y-3"}),
    "third": ("1", {"y-3"}),
    "fourth": ("2", {"x-4", "y-4"}),
    "fifth": ('1, "x-3"', {"x-3", "y-3"}),
}


@pytest.mark.full
def test_chosen_cases_are_quick(folder_of):
    folder = folder_of({name: patterns for name, (patterns, _) in CHOSEN.items()})

    def named(cases: Callable[[str], set[str]], *tests: str) -> set[str]:
        """Return the names of the cases of each module, and of other tests in each."""
        cases_of = {name: {f"test_cases[{case}]" for case in cases(name)} for name in CHOSEN}
        return {f"{name}::{test}" for name, has in cases_of.items() for test in {*tests, *has}}

    quick, output = collected(folder, QUICK_TIER)
    assert quick == named(lambda name: CHOSEN[name][1], "test_short"), output
    full = named(lambda _: {f"{a}-{b}" for a in "xy" for b in (3, 4)}, "test_short", "test_long")
    assert collected(folder, FULL_TIER)[0] == full
    assert collected(folder, REST_TIER)[0] == full - quick
    assert collected(folder, "slow")[0] == named(lambda _: set(), "test_longer")


@pytest.mark.full
def test_a_mark_that_chooses_nothing_or_all_is_an_error(folder_of):
    mistakes = {
        '"x-*", "z"': "no case matches the pattern 'z'",
        "": "must choose some of 4 cases, not 0",
        '"*"': "must choose some of 4 cases, not 4",
        "4": "must choose some of 4 cases, not 4",
    }
    folder = folder_of({f"{number}": patterns for number, patterns in enumerate(mistakes)})
    _, output = collected(folder, QUICK_TIER)
    for number, message in enumerate(mistakes.values()):
        assert re.search(rf"test_{number}\.py.*{re.escape(message)}", output), output


@pytest.mark.full
def test_every_folder_of_blocks_is_in_the_quick_tier():
    """Each folder below tests/hw with tests has some that `make test` runs."""
    folders = {path.parent for path in (TESTS / "hw").rglob("test_*.py")}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--tier=quick"]
    run = subprocess.run(
        [*command, str(TESTS / "hw")], cwd=TESTS.parent, capture_output=True, text=True, check=True
    )
    files = {line.split("::")[0] for line in run.stdout.splitlines() if "::" in line}
    assert folders - {(TESTS.parent / file).parent for file in files} == set()


REPORT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.hw.lib.test_arbiter" name="test_a" time="1.25"><properties>
<property name="processor_seconds" value="0.75" /><property name="build_seconds" value="0.25" />
</properties></testcase>
<testcase classname="tests.hw.lib.test_arbiter" name="test_b[1]" time="0.5"><properties>
<property name="processor_seconds" value="0.5" /><property name="build_seconds" value="2" />
</properties><failure /></testcase>
<testcase classname="tests.cost.test_area" name="test_c" time="3.0" />
</testsuite></testsuites>"""

#: Limits of a tier in seconds on two processors with an empty cache: the whole command, processor
#: time of builds, and processor time of the longest test beside its builds.
BUDGETS = {"quick": (8 * 60, 5 * 60, 10), "full": (35 * 60, None, None)}


def test_a_report_is_summed_by_file():
    measured = durations.measured_costs(REPORT)
    assert measured == {
        "hw/lib/test_arbiter.py": FileCost(1.75, 2.25, 0.75),
        "cost/test_area.py": FileCost(3.0),
    }


def test_processor_time_of_a_test_is_reported():
    clock = durations.ProcessorTime()
    sum(range(2_000_000))
    (own, seconds), (builds, none) = clock.properties()
    assert (own, builds) == durations.ProcessorTime.NAMES
    assert seconds > 0
    assert none == 0


def test_a_part_of_the_files_can_be_recorded_again(monkeypatch, tmp_path):
    """Other records stay, unless their file is gone; so do those of the other tier."""
    record = tmp_path / "durations.json"
    files = {"cost/test_area.py": [9, 1, 2], "conftest.py": [2, 0, 0], "gone.py": [7, 0, 0]}
    other = {"wall": 3, "files": {"cost/test_area.py": [1, 0, 0]}}
    record.write_text(json.dumps({"full": {"wall": 12, "files": files}, "quick": other}))
    monkeypatch.setattr(durations, "RECORD", record)
    durations.record("full", durations.measured_costs(REPORT))
    assert recorded_durations("full") == {
        "conftest.py": 2,
        "cost/test_area.py": 3.0,
        "hw/lib/test_arbiter.py": 1.8,
    }
    assert recorded_wall("full") == 12
    durations.record("full", {}, wall=20.04)
    assert recorded_wall("full") == 20
    assert json.loads(record.read_text())["quick"] == other
    assert '"hw/lib/test_arbiter.py": [1.8, 2.2, 0.8]' in record.read_text()


@pytest.mark.parametrize(("workers", "end"), [(1, 12), (2, 7), (3, 5)])
def test_a_worker_that_is_free_takes_the_longest_file(workers, end):
    assert makespan([2, 5, 2, 3], workers) == end


@pytest.mark.parametrize("tier", sorted(BUDGETS.keys() & recorded_tiers()))
def test_a_tier_keeps_its_budget(tier):
    """Measured by `make durations` on two processors, with an empty cache."""
    wall, builds, longest = BUDGETS[tier]
    costs = recorded_costs(tier)
    assert 0 < recorded_wall(tier) <= wall
    assert builds is None or sum(cost.builds for cost in costs.values()) <= builds
    assert longest is None or {f: c.longest for f, c in costs.items() if c.longest > longest} == {}
