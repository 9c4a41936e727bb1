"""Tests of the report on a marked region: shares of its cycles, one table per unit."""

import pytest

from spica.hw.cluster.counters import counter_table
from spica.hw.config import PRESETS
from spica.sim.report.program_report import table_text
from spica.sim.report.region_report import account_region, region_tables

HETERO = PRESETS["tiny_hetero"]


def made_up(marks, macs):
    """Return the account of a region with event counts equal to the events' positions."""
    counters = {counter.name: number for number, counter in enumerate(counter_table(HETERO))}
    done = {
        "region": {"begin": 100, "end": 1100, "cycles": 1000},
        "marks": marks,
        "unit_counters": counters,
        "profile": {"main": {"cycles": 10}},
    }
    return done | account_region(HETERO, macs, done)


@pytest.mark.parametrize("macs", [(4096, 0), (0, 640), (4096, 640)])
def test_shares_are_those_of_all_cycles(macs):
    done = made_up([[100, 900], [120, 1100]], macs)
    elapsed = [800, 980] if all(macs) else [1000, 1000]
    used = [number for number, wanted in enumerate(macs) if wanted]
    assert len(done["matrix_units"]) == len(used)
    for number, unit in zip(used, done["matrix_units"].values(), strict=True):
        parts = unit["breakdown"]
        assert sum(part["cycles"] for part in parts.values()) == elapsed[number]
        assert sum(part["percent"] for part in parts.values()) == pytest.approx(100)
        assert parts["multiply_adds"]["cycles"] == macs[number] / HETERO.matrices[number].macs
        assert parts["multiply_adds"]["percent"] == pytest.approx(100 * unit["mac_utilization"])
    texts = [table_text(table) for table in region_tables(done)]
    assert len(texts) == len(used)
    for name, text in zip(done["matrix_units"], texts, strict=True):
        assert text.startswith("Where the cycles went" + (f": {name}" if len(used) > 1 else ""))
        assert "array waited for weights" in text


def test_without_a_region_there_is_no_table():
    assert region_tables({"region": None}) == []
