"""Energy of products with L1 caches of flip-flops: ``python -m bench.flip_flop_caches``.

The published designs have L1 caches synthesised as arrays of flip-flops (section 5.3), those of
Spica are SRAM macros. For each design, `gemm` runs with energy from gates; the memories of the L1I
and L1D are then estimated from the library's flip-flop and multiplexer
(`synth.energy.flip_flop_memory`). Writes ``bench/results/flip_flop_caches.json``.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spica.api.progress import ProgressDisplay
from spica.base.errors import UserError
from spica.base.progress import Progress
from spica.cli.options import new_table, standard_output
from spica.explore.energy.gates import (
    GateMachine,
    GateOptions,
    gate_machine,
    read_costs,
    run_with_gates,
)
from spica.explore.reproduce.published import DESIGNS
from spica.hw.presets import PRESETS
from spica.synth.energy.block_model import Costs
from spica.synth.energy.memory_accesses import MemoryPorts
from spica.synth.energy.memory_energy import MemoryEnergy
from spica.synth.energy.sampling import parts_of

from .energy_measurements import INSTANCES, work_of
from .energy_runs import LONG, EnergyRun

RESULT = Path(__file__).parent / "results" / "flip_flop_caches.json"
CACHES = ("L1I", "L1D")


def with_flip_flops(machine: GateMachine, costs: Costs) -> GateMachine:
    """Return a machine whose blocks in L1 caches have memories of flip-flops."""
    design, models = machine.design, dict(machine.models)
    parts = parts_of(design, design.top, lambda block: models[block].children)
    groups: dict[str, set[str]] = {}
    for part in parts:
        groups.setdefault(part.block, set()).add(part.group)
    for name, designs in groups.items():
        if designs <= set(CACHES):
            model = models[name]
            memories = tuple(
                (ports, of_flip_flops(ports, energy, costs)) for ports, energy in model.memories
            )
            models[name] = replace(model, memories=memories)
    return GateMachine(design, models)


def of_flip_flops(ports: MemoryPorts, energy: MemoryEnergy, costs: Costs) -> MemoryEnergy:
    """Return the energy of a memory as an array of flip-flops."""
    shape, cells = ports.memory.shape, costs.storage
    assert shape is not None
    return replace(energy, read=cells.read_energy(shape), write=cells.write_energy(shape))


def measured(
    design: str, size: str, costs: Costs, gates: GateOptions, progress: Progress
) -> dict[str, dict[str, float]]:
    """Return energy, power and energy of the L1 caches of a product, with either kind of caches."""
    run = EnergyRun(preset=design, kernel="gemm", size=size, options=LONG)
    config = PRESETS[design]
    workload, settings = work_of(run)
    macros = gate_machine(config, design, costs, progress)
    designs = {}
    for name, machine in (("macros", macros), ("flip-flops", with_flip_flops(macros, costs))):
        result = run_with_gates(
            *(workload, design, config, settings),
            costs=costs,
            gates=gates,
            machine=machine,
            progress=progress,
        )
        energy: Mapping[str, Any] = result["energy"]
        caches = sum(energy["by_group"][group]["total_pj"] for group in CACHES)
        designs[name] = {
            "total_pj": energy["total_pj"],
            "l1_pj": caches,
            "power_mw": energy["power_mw"],
        }
    return designs


def parsed() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.flip_flop_caches", description=__doc__)
    parser.add_argument("--liberty", type=Path, required=True, help="cell library")
    parser.add_argument("--sram-table", type=Path, help="memory macros with energies")
    parser.add_argument("--size", default="256", help="side of the product")
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=["virgo", "ampere"])
    return parser.parse_args()


def print_table(designs: Mapping[str, Mapping[str, Mapping[str, float]]]):
    """Print the figures of all designs, each in relation to those of the first."""
    table = new_table(
        *("L1 caches of macros and of flip-flops", "design", "L1 caches"),
        numbers=("energy, uJ", "L1 caches, uJ", "power, mW", "energy of the first", "power"),
    )
    first = next(iter(designs.values()))
    for design, kinds in designs.items():
        for kind, figures in kinds.items():
            energy, power = (first[kind][name] / figures[name] for name in ("total_pj", "power_mw"))
            table.add_row(
                *(
                    design,
                    kind,
                    f"{figures['total_pj'] / 1e6:,.1f}",
                    f"{figures['l1_pj'] / 1e6:,.1f}",
                ),
                *(f"{figures['power_mw']:,.0f}", f"{energy:.1%}", f"{power:.1%}"),
            )
    standard_output().print(table)


def main():
    arguments = parsed()
    gates = GateOptions(
        liberty=arguments.liberty, sram_table=arguments.sram_table, instances=INSTANCES
    )
    with ProgressDisplay() as progress:
        costs = read_costs(gates)
        designs = {
            design: measured(design, arguments.size, costs, gates, progress)
            for design in arguments.designs
        }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"size": arguments.size, "designs": designs}, indent=2) + "\n")
    print_table(designs)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"flip_flop_caches: {error}")
