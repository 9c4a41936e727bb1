"""Energy from events against gates, for runs that are not fitted: what notices stale energies."""

import pytest

from spica.cli.run import chosen
from spica.cli.run_options import Options
from spica.explore.energy.event_data import read_energies
from spica.explore.energy.event_fit import differences, measured_run
from spica.explore.energy.gates import read_costs, run_with_gates
from spica.hw.config import PRESETS
from support.pdk import needs_pdk, sg13g2_gates

pytestmark = [
    pytest.mark.slow,
    needs_pdk,
]
#: Largest differences of the total, and of a group above 5 % of it.
TOTAL, GROUP = 0.10, 0.20


@pytest.fixture(scope="module")
def costs():
    return read_costs(sg13g2_gates())


@pytest.mark.parametrize(
    ("preset", "kernel", "size", "options"),
    [
        ("tiny_matrix", "gemm", "40x72x24", {}),
        ("tiny_matrix", "gemm", "56x24x88", {"c": "fp32", "dram_latency": 400}),
        ("tiny", "sgemm", "24", {"dram_latency": 100}),
        ("virgo", "attention", "64x64", {"lockstep": False}),
    ],
)
def test_runs_that_are_not_fitted_agree(costs, preset, kernel, size, options):
    config = PRESETS[preset]
    workload, settings = chosen(kernel, (), config, Options(preset=preset, size=size, **options))
    result = run_with_gates(workload, preset, config, settings, costs=costs, gates=sg13g2_gates())
    found = differences(measured_run(result, config), read_energies())
    print(preset, kernel, size, options, found)
    assert abs(found["total"]) < TOTAL
    assert max(abs(each) for each in found["groups"].values()) < GROUP
