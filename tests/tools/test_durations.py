"""Tests of `support.durations`: recorded costs of test files, their schedule and their budgets."""

import json

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
