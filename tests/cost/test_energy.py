"""Energy of a machine: windows against whole runs, blocks against a netlist, events and gates."""

from dataclasses import replace

import pytest

from spica.explore.energy.event_data import read_energies
from spica.explore.energy.event_fit import differences, measured_run
from spica.explore.energy.gates import read_costs, run_with_gates
from spica.hw.presets import PRESETS
from spica.sim.engine.emission_cache import emit_cached
from spica.sim.harness.cluster_harness import observed_cluster
from spica.sim.run.options import RunOptions, with_memory
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.request.request import Request
from spica.sim.run.request.resolve import resolve
from spica.sim.run.workload import run_workload
from spica.synth.design import cluster_design
from spica.synth.energy.mapped_netlist import map_block
from spica.synth.energy.sampling import parts_of
from support.energy.flat_energy import flat_energy
from support.energy.flat_machine import flat_machine
from support.energy.flat_simulation import simulate_flat
from support.need_tools import need_icarus
from support.pdk import needs_pdk, sg13g2_gates

NAME = "tiny_matrix"
CONFIG = PRESETS[NAME]
pytestmark = [pytest.mark.slow, needs_pdk]


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
    assert not any(energy["windows_counted"] < energy["windows"] for energy in totals[0]["blocks"])
    print(f"whole {whole}, sampled {sampled}, ratio {sampled / whole:.4f}")
    assert sampled == pytest.approx(whole, rel=0.05)
    assert totals[0]["standard_error_pj"] is None
    for total, energy in zip(others, totals[2:], strict=True):
        error, source = energy["standard_error_pj"], energy["source"]
        print(f"{source['windows']} windows, {source['sampled_cycles']} cycles: ", end="")
        print(f"{total / whole - 1:+.2%}, standard error {error / whole:.2%}")
        assert 0.002 * whole < error < 0.1 * whole
        assert abs(total - whole) < 3 * error


def test_blocks_add_up_to_the_flat_netlist(tmp_path):
    need_icarus()
    gates = sg13g2_gates(windows=1, window_cycles=3000)
    costs = read_costs(gates)
    work = ProductWorkload(m=16, n=16, k=16)
    options = with_memory(CONFIG, RunOptions())
    by_blocks = run_with_gates(work, NAME, CONFIG, options, costs=costs, gates=gates)["energy"]
    waveform = tmp_path / "whole.vcd"
    traced = replace(options, trace=waveform, trace_window=(0, 1 << 40))
    result = run_workload(work, NAME, CONFIG, traced)
    design = cluster_design(CONFIG, NAME)
    netlists = {
        name: map_block(costs.library, costs.cells, design.blocks[name]) for name in design.order
    }
    parts = parts_of(
        *(design, design.top),
        lambda block: [(part.name, part.block) for part in netlists[block].opaque if part.block],
    )
    blocks = {path: part.block for part in parts for path in part.instances}
    machine = flat_machine(design, netlists, design.top)
    cycles, liberty = result["run_cycles"], costs.library.text
    emission = emit_cached(CONFIG, NAME, kind=observed_cluster, simulated=True)
    run = simulate_flat(machine, netlists, blocks, waveform, cycles, liberty, tmp_path, emission)
    assert run.differing == []
    assert run.cycles == cycles
    flat = flat_energy(machine.netlist, run, costs)
    for name, energy in flat.items():
        print(f"{name}: blocks {by_blocks[name]:.1f}, flat {energy:.1f}", end="")
        print(f", {by_blocks[name] / energy - 1:+.3%}")
    assert {name: by_blocks[name] for name in flat} == pytest.approx(flat, rel=0.03)


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
    run = resolve(Request(kernel=kernel, preset=preset, size=size, **options))
    arguments = (run.workload, preset, config, run.options)
    result = run_with_gates(*arguments, costs=costs, gates=sg13g2_gates())
    errors = differences(measured_run(result, config), read_energies())
    print(preset, kernel, size, options, errors)
    assert abs(errors["total"]) < TOTAL
    assert max(abs(energy) for energy in errors["groups"].values()) < GROUP
