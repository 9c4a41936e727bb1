"""Cycles of matrix units by activity: shares of all cycles of the region, one table per unit."""

import pytest

from spica.hw.machine.counters import counter_table
from spica.hw.presets import PRESETS
from spica.kernels.compile import RUNTIME_DIRECTORY
from spica.sim.harness.profile import POLLING, FunctionProfile, polled
from spica.sim.report.tables import activity_table, text_of
from spica.sim.run.program_workload import account_products

HETERO = PRESETS["tiny_hetero"]


def made_up(regions, macs):
    """Return the sections of a run in which each event happened as often as its place says."""
    counters = {counter.name: number for number, counter in enumerate(counter_table(HETERO))}
    done = {
        "cycles": 1000,
        "region": {"begin": 100, "end": 1100},
        "cores": [{"region": {"begin": begin, "end": end}} for begin, end in regions],
        "counters": counters,
        "profile": {"main": {"cycles": 30}, "virgo_fence": {"cycles": 10}},
    }
    return done | account_products(HETERO, macs, done)


@pytest.mark.parametrize("macs", [(4096, 0), (0, 640), (4096, 640)])
def test_shares_are_those_of_all_cycles(macs):
    done = made_up([[100, 900], [120, 1100]], macs)
    elapsed = [800, 980] if all(macs) else [1000, 1000]
    used = [number for number, count in enumerate(macs) if count]
    assert len(done["matrix_units"]) == len(used)
    for number, (name, unit) in zip(used, done["matrix_units"].items(), strict=True):
        parts = unit["breakdown"]
        assert sum(part["cycles"] for part in parts.values()) == unit["cycles"] == elapsed[number]
        assert sum(part["share"] for part in parts.values()) == pytest.approx(1)
        assert parts["multiply_adds"]["cycles"] == macs[number] / HETERO.units[number].macs
        assert parts["multiply_adds"]["share"] == pytest.approx(unit["mac_utilization"])
        text = text_of(activity_table(parts, f"Cycles of {name}", "whole"), 100)
        assert text.startswith(f"Cycles of {name}\n")
        assert "array waits for weights" in text
        assert text.splitlines()[-1].split() == ["100", "%", f"{elapsed[number]:,}", "whole"]


def test_utilisation_of_two_units_is_over_the_time_of_each():
    done = made_up([[100, 900], [120, 1100]], (4096, 640))
    first, second = HETERO.units
    capacity = first.macs * 800 + second.macs * 980
    assert done["mac_utilization"] == pytest.approx((4096 + 640) / capacity)
    assert done["polling_share"] == 0.25
    assert made_up([[100, 900], [120, 1100]], ())["mac_utilization"] is None


def test_functions_that_poll_are_those_of_runtime_and_products():
    paths = [
        *RUNTIME_DIRECTORY.glob("include/*.h"),
        RUNTIME_DIRECTORY.parent / "gemm" / "gemm.h",
    ]
    headers = "".join(path.read_text() for path in paths)
    assert [name for name in POLLING if f" {name}(" not in headers] == []


def test_polling_is_the_sum_of_its_functions():
    profile = {
        "main": FunctionProfile(7, 30),
        "virgo_await": FunctionProfile(4, 20),
        "virgo_fence": FunctionProfile(3, 10),
        "vx_wspawn_wait": FunctionProfile(2, 5),
    }
    assert polled(profile) == FunctionProfile(9, 35)
    assert polled({"main": profile["main"]}) == FunctionProfile(0, 0)
