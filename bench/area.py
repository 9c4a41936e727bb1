"""Benchmark of area: ports of the matrix unit in shared memory, and staging of fragments."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from spica.base.progress import Progress
from spica.cli.options import new_table
from spica.hw.config import MachineConfig
from spica.hw.lib.register_slices import RegisterSlice
from spica.hw.memory.shared.shared_memory import SharedMemory, cluster_ports
from spica.hw.presets import PRESETS
from spica.hw.styles.register_fed.config import BUFFERS, RegisterFedConfig
from spica.hw.styles.register_fed.fragment_staging import FragmentStaging
from spica.hw.styles.register_fed.layouts import row_shape
from spica.synth.grouped import Pricing, total_measurement
from spica.synth.measure import measure as measure_block
from spica.synth.memories import MemoryShape, memory_nand2

__all__ = ["measure", "tables"]


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after each part."""
    progress("synthesising shared memory with and without ports of the matrix unit", 0, 0)
    result = {"matrix_ports": matrix_ports(PRESETS["tiny_matrix" if quick else "virgo"])}
    yield result
    progress("synthesising staging of fragments", 0, 0)
    yield result | {"staging": staging(PRESETS["ampere"])}


def matrix_ports(config: MachineConfig) -> dict:
    """Return the cost of shared memory with and without the ports of the matrix unit."""
    ports = cluster_ports(config, config.clusters)
    others = len(ports.read_sizes) - 2 * len(config.units)
    without = replace(ports, read_sizes=ports.read_sizes[-others:])
    costs = {}
    for name, requesters in (("with", ports), ("without", without)):
        whole = total_measurement(measure_block(SharedMemory(requesters), name), Pricing())
        costs[name] = {
            "logic": whole.logic_nand2,
            "flip_flops": whole.flip_flop_nand2,
            "sram": whole.sram_nand2,
            "in_all": whole.nand2,
        }
    added = {key: costs["with"][key] - costs["without"][key] for key in costs["with"]}
    return costs | {
        "increase": added["in_all"] / costs["without"]["in_all"],
        "increase_without_sram": (added["logic"] + added["flip_flops"])
        / (costs["without"]["logic"] + costs["without"]["flip_flops"]),
    }


def staging(config: MachineConfig) -> dict:
    """Return the cost of the fragments of a core, by the storage of C.

    C of two instructions is the staging of the RTL. C of one instruction has half of its memory. If
    C were streamed, a register slice of one register would replace its memory.
    """
    core = config.core
    assert core is not None
    registers, width = RegisterFedConfig.of(core.tensor).registers, row_shape(core.threads).size
    measured = measure_block(FragmentStaging(core.pipeline), "staging")
    memories = sum((block.memories for block in measured.blocks), Counter[MemoryShape]())
    (c,) = (
        memory_shape
        for memory_shape in memories
        if (memory_shape.depth, memory_shape.width) == (BUFFERS * registers, width)
    )
    operands = memories - Counter([c])
    streamed = measure_block(RegisterSlice(row_shape(core.threads)), "streamed").nand2
    costs = {
        "two instructions": (memory_nand2(c), c.flip_flop_nand2),
        "one instruction": (
            memory_nand2(half := replace(c, depth=registers)),
            half.flip_flop_nand2,
        ),
        "streamed": (streamed, streamed),
    }
    others = sum(n * memory_nand2(shape) for shape, n in operands.items())
    others_in_flip_flops = sum(n * shape.flip_flop_nand2 for shape, n in operands.items())
    return {
        "logic": measured.nand2,
        "operands": others,
        "c": {
            name: {
                "nand2": memory,
                "in_all": measured.nand2 + others + memory,
                "in_all_flip_flops": measured.nand2 + others_in_flip_flops + flip_flops,
            }
            for name, (memory, flip_flops) in costs.items()
        },
    }


def tables(result: dict) -> Iterator:
    """Yield tables of the ports of the matrix unit, and of staging."""
    ports = result["matrix_ports"]
    table = new_table("Shared memory", "", numbers=["measured", "published"])
    table.add_row("ports of the matrix unit", f"{ports['increase']:+.1%}", "+9.6%")
    table.add_row("the same without SRAM", f"{ports['increase_without_sram']:+.1%}", "")
    yield table
    if "staging" not in result:
        return
    staging = result["staging"]
    numbers = ["C", "A and B", "logic", "total", "total, flip-flops for memories"]
    table = new_table("Staging of a core, NAND2 equivalents", "C", numbers=numbers)
    for name, cost in staging["c"].items():
        parts = (cost["nand2"], staging["operands"], staging["logic"], cost["in_all"])
        figures = (*parts, cost["in_all_flip_flops"])
        table.add_row(name, *(f"{figure:,.0f}" for figure in figures))
    yield table
