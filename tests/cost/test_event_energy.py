"""Energy from events against gates, for products and kernels that are not fitted."""

import os
from pathlib import Path

import pytest

from spica.cli.run import chosen
from spica.cli.run_options import Options
from spica.explore.energy.event_data import read_energies
from spica.explore.energy.event_fit import differences, measured_run
from spica.explore.energy.gates import GateOptions, read_costs, run_with_gates
from spica.hw.config import PRESETS

PDK = os.environ.get("SPICA_PDK")
PRESET = "tiny_matrix"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PDK is None, reason="SPICA_PDK must name the folder of the cell libraries"),
]
#: Largest differences of the total, and of a group above 5 % of it.
TOTAL, GROUP = 0.10, 0.20


@pytest.fixture(scope="module")
def gates():
    folder = Path(str(PDK))
    return GateOptions(
        liberty=folder / "sg13g2_stdcell_typ_1p20V_25C.lib",
        sram_table=folder / "ihp_sg13g2_sram_energy.csv",
        windows=32,
    )


@pytest.fixture(scope="module")
def costs(gates):
    return read_costs(gates)


@pytest.mark.parametrize(
    ("size", "options"),
    [
        ("40x72x24", {}),
        ("12x100x20", {"seed": 3}),
        ("56x24x88", {"c": "fp32"}),
        ("64x64x64", {"dram_latency": 400}),
        ("48x48x48", {"dram_bandwidth": 8}),
    ],
)
def test_runs_that_are_not_fitted_agree(gates, costs, size, options):
    config = PRESETS[PRESET]
    workload, settings = chosen("gemm", (), config, Options(preset=PRESET, size=size, **options))
    result = run_with_gates(workload, PRESET, config, settings, costs=costs, gates=gates)
    found = differences(measured_run(result, config), read_energies())
    print(size, options, found)
    assert abs(found["total"]) < TOTAL
    assert max(abs(each) for each in found["groups"].values()) < GROUP
