"""Tests of `support.durations`: recorded durations of test files and their schedule."""

import json

import pytest

from support import durations

REPORT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.hw.lib.test_arbiter" name="test_a" time="1.25" />
<testcase classname="tests.hw.lib.test_arbiter" name="test_b[1]" time="0.5"><failure /></testcase>
<testcase classname="tests.cost.test_area" name="test_c" time="3.0" />
</testsuite></testsuites>"""


def test_a_report_is_summed_by_file():
    measured = durations.measured_durations(REPORT)
    assert measured == {"hw/lib/test_arbiter.py": 1.75, "cost/test_area.py": 3.0}


def test_a_part_of_the_files_can_be_recorded_again(monkeypatch, tmp_path):
    """Other records stay, unless their file is gone."""
    record = tmp_path / "durations.json"
    record.write_text(json.dumps({"cost/test_area.py": 9, "conftest.py": 2, "gone.py": 7}))
    monkeypatch.setattr(durations, "RECORD", record)
    durations.record(durations.measured_durations(REPORT))
    assert durations.recorded_durations() == {
        "conftest.py": 2,
        "cost/test_area.py": 3.0,
        "hw/lib/test_arbiter.py": 1.8,
    }


@pytest.mark.parametrize(("workers", "end"), [(1, 12), (2, 7), (3, 5)])
def test_a_worker_that_is_free_takes_the_longest_file(workers, end):
    assert durations.makespan([2, 5, 2, 3], workers) == end
