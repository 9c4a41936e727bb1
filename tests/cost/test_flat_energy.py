"""Energy of a machine by blocks against that of one flat netlist of it, simulated from reset."""

from dataclasses import replace

import pytest

from spica.explore.energy.gates import read_costs, run_with_gates
from spica.hw.config import PRESETS
from spica.sim.run.options import RunOptions, with_memory
from spica.sim.run.product_workload import ProductWorkload
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
pytestmark = [
    pytest.mark.slow,
    needs_pdk,
]


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
    run = simulate_flat(machine, netlists, blocks, waveform, cycles, liberty, tmp_path)
    assert run.differing == []
    assert run.cycles == cycles
    flat = flat_energy(machine.netlist, run, costs)
    for name, energy in flat.items():
        print(f"{name}: blocks {by_blocks[name]:.1f}, flat {energy:.1f}", end="")
        print(f", {by_blocks[name] / energy - 1:+.3%}")
    assert {name: by_blocks[name] for name in flat} == pytest.approx(flat, rel=0.03)
