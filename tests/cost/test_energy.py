"""Energy of a machine from sampled windows against that of the whole run."""

from dataclasses import replace

import pytest

from spica.explore.energy.gates import read_costs, run_with_gates
from spica.hw.config import PRESETS
from spica.sim.run.options import RunOptions, with_memory
from spica.sim.run.product_workload import ProductWorkload
from support.pdk import needs_pdk, sg13g2_gates

NAME = "tiny_matrix"
CONFIG = PRESETS[NAME]
pytestmark = [
    pytest.mark.slow,
    needs_pdk,
]


def test_windows_stand_for_the_whole_run():
    gates = sg13g2_gates()
    costs = read_costs(gates)
    options = with_memory(CONFIG, RunOptions())
    totals = [
        run_with_gates(
            ProductWorkload(m=16, n=16, k=16),
            *(NAME, CONFIG, options),
            costs=costs,
            gates=replace(gates, windows=windows, window_cycles=cycles, instances=instances),
        )["energy"]
        for windows, cycles, instances in (
            *((1, 10_000, 1000), (16, 32, 4)),
            *((128, 8, 1000), (64, 8, 1000), (16, 63, 1000)),
        )
    ]
    whole, sampled, *others = (total["total_pj"] for total in totals)
    assert not any(each["windows_counted"] < each["windows"] for each in totals[0]["blocks"])
    print(f"whole {whole}, sampled {sampled}, ratio {sampled / whole:.4f}")
    assert sampled == pytest.approx(whole, rel=0.05)
    assert totals[0]["standard_error_pj"] is None
    for total, each in zip(others, totals[2:], strict=True):
        error, source = each["standard_error_pj"], each["source"]
        print(f"{source['windows']} windows, {source['sampled_cycles']} cycles: ", end="")
        print(f"{total / whole - 1:+.2%}, standard error {error / whole:.2%}")
        assert 0.002 * whole < error < 0.1 * whole
        assert abs(total - whole) < 3 * error
