"""Benchmark of area: presets, ports of the matrix unit, and sweeps of one field."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from spica.cli.options import new_table
from spica.cli.progress import counting_blocks
from spica.explore.charts.area import area_chart
from spica.explore.charts.files import svg
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS, ClusterConfig
from spica.hw.config.override import override
from spica.hw.core.units.tensor.fragment_staging import FragmentStaging
from spica.hw.core.units.tensor.layouts import BUFFERS, row_shape
from spica.hw.lib.register_slices import RegisterSlice
from spica.hw.memory.shared.shared_memory import SharedMemory, cluster_ports
from spica.synth.area import area_report, measure_cluster
from spica.synth.grouped import Pricing, group_measurements, total_measurement
from spica.synth.measure import Measurement
from spica.synth.measure import measure as measure_block
from spica.synth.memories import MemoryShape, memory_nand2

from .target import Target

__all__ = ["measure", "pictures", "tables"]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Machines that differ in the value of some fields.

    Parameters
    ----------
    preset : str
        Preset that is varied.
    fields : sequence of str
        Fields that get the value.
    values : sequence
        Values in the order of growing machines.
    settings : sequence of str
        Settings common to all machines, so that each value is valid.
    group : str
        Group of `synth.groups` that must grow.

    """

    preset: str
    fields: Sequence[str]
    values: Sequence[int | str]
    settings: Sequence[str] = ()
    group: str

    def machines(self) -> Iterator[tuple[str, ClusterConfig]]:
        """Yield name and config of each machine."""
        for value in self.values:
            settings = [*self.settings, *(f"{field}={value}" for field in self.fields)]
            yield str(value), override(PRESETS[self.preset], settings)


WIDE = ("shared.subbanks=16",)
SIDES = ("matrix.rows", "matrix.columns")
#: Formats in the order of multiplier cost.
FORMATS = ("fp8_e4m3", "bf16", "fp16", "fp32")
SWEEPS = {
    "mesh": Sweep(
        preset="matrix", fields=SIDES, values=(4, 8, 16, 32), settings=WIDE, group="mesh"
    ),
    "formats": Sweep(
        preset="matrix", fields=("matrix.operand",), values=FORMATS, settings=WIDE, group="mesh"
    ),
    "banks": Sweep(
        preset="core", fields=("shared.banks",), values=(1, 2, 4, 8, 16), group="shared memory"
    ),
    "collectors": Sweep(
        preset="core",
        fields=("core.collectors",),
        values=(2, 4, 6, 8),
        group="registers and collectors",
    ),
    "warps": Sweep(
        preset="core",
        fields=("core.warps",),
        values=(2, 4, 8, 16),
        group="scheduler and scoreboard",
    ),
    "lanes": Sweep(preset="core", fields=("core.threads",), values=(4, 8, 16), group="FP32"),
}
QUICK = {
    "mesh": Sweep(preset="tiny_matrix", fields=SIDES, values=(2, 4), group="mesh"),
    "banks": Sweep(
        preset="tiny_matrix", fields=("shared.banks",), values=(1, 2, 4), group="shared memory"
    ),
}


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every preset and sweep."""
    result: dict = {"presets": {}, "sweeps": {}, "targets": []}
    for preset in ["tiny_matrix"] if quick else ["virgo", "core", "matrix"]:
        result["presets"][preset] = area_report(measured(PRESETS[preset], preset, tell))
        yield result
    preset = "tiny_matrix" if quick else "virgo"
    tell("synthesising shared memory with and without ports of the matrix unit", 0, 0)
    result["matrix_ports"] = matrix_ports(PRESETS[preset])
    result["shared_memory_share"] = next(
        group["share"]
        for group in result["presets"][preset]["groups"]
        if group["name"] == "shared memory"
    )
    result["staging"] = staging(PRESETS["ampere"])
    yield result
    for name, sweep in (QUICK if quick else SWEEPS).items():
        points = [measured(config, value, tell) for value, config in sweep.machines()]
        result["sweeps"][name] = sweep_report(sweep, points)
        result["targets"] += [target.as_dict() for target in growth(name, sweep, points)]
        yield result


def measured(config: ClusterConfig, name: str, tell: Progress) -> Measurement:
    """Return the cost of a cluster, with progress."""
    return measure_cluster(config, name, progress=counting_blocks(tell, name))


def matrix_ports(config: ClusterConfig) -> dict:
    """Return the cost of shared memory with and without the ports of the matrix unit."""
    ports = cluster_ports(config)
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


def staging(config: ClusterConfig) -> dict:
    """Return the cost of the fragments of a core, by the storage of C.

    C of two instructions is the staging of the RTL. C of one instruction has half of its memory. If
    C were streamed, a register slice of one register would replace its memory.
    """
    core = config.core
    assert core is not None
    registers, width = core.tensor_config.registers, row_shape(core.threads).size
    measured = measure_block(FragmentStaging(core.pipeline), "staging")
    memories = sum((block.memories for block in measured.blocks), Counter[MemoryShape]())
    (c,) = (each for each in memories if (each.depth, each.width) == (BUFFERS * registers, width))
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


def sweep_report(sweep: Sweep, points: Sequence[Measurement]) -> dict:
    """Return a sweep for JSON."""
    groups = [
        (point.name, {g.name: g.nand2 for g in group_measurements(point, Pricing())})
        for point in points
    ]
    return {
        "preset": sweep.preset,
        "fields": list(sweep.fields),
        "settings": list(sweep.settings),
        "grows": sweep.group,
        "points": [
            {
                "value": point.name,
                "cells": point.cells,
                "nand2": point.nand2,
                "flip_flops": point.flip_flops,
                "sram_bits": point.sram_bits,
                "depth": point.depth,
                "groups": areas,
            }
            for point, (_, areas) in zip(points, groups, strict=True)
        ],
    }


def growth(name: str, sweep: Sweep, points: Sequence[Measurement]) -> Iterator[Target]:
    """Yield the targets that the group grows from machine to machine."""
    costs = [
        next(g.nand2 for g in group_measurements(point, Pricing()) if g.name == sweep.group)
        for point in points
    ]
    for (before, after), point in zip(pairwise(costs), points[1:], strict=True):
        yield Target(
            name=f"{sweep.group} at {name} {point.name}, relative to the previous machine",
            value=after / before,
            limit=1.0,
            at_least=True,
        )


def pictures(result: dict) -> dict[str, str]:
    """Return a picture of each sweep, by file name."""
    return {
        f"area_{name}.svg": svg(
            area_chart(
                f"{sweep['preset']}: {' and '.join(sweep['fields'])}",
                "NAND2 equivalents, with SRAM",
                [(point["value"], point["groups"]) for point in sweep["points"]],
            )
        )
        for name, sweep in result["sweeps"].items()
    }


def tables(result: dict) -> Iterator:
    """Yield tables of presets by group, ports of the matrix unit, and sweeps."""
    for name, report in result["presets"].items():
        yield group_table(name, report["groups"])
    if "matrix_ports" in result:
        ports = result["matrix_ports"]
        table = new_table("Shared memory", "", numbers=["measured", "published"])
        table.add_row("ports of the matrix unit", f"{ports['increase']:+.1%}", "+9.6%")
        table.add_row("the same without SRAM", f"{ports['increase_without_sram']:+.1%}", "")
        table.add_row("share of the cluster", f"{result['shared_memory_share']:.1%}", "5.5%")
        yield table
    if "staging" in result:
        found = result["staging"]
        numbers = ["C", "A and B", "logic", "total", "total, flip-flops for memories"]
        table = new_table("Staging of a core, NAND2 equivalents", "C", numbers=numbers)
        for name, cost in found["c"].items():
            parts = (cost["nand2"], found["operands"], found["logic"], cost["in_all"])
            figures = (*parts, cost["in_all_flip_flops"])
            table.add_row(name, *(f"{figure:,.0f}" for figure in figures))
        yield table
    for name, sweep in result["sweeps"].items():
        numbers = [f"{name} {point['value']}" for point in sweep["points"]]
        table = new_table(f"{sweep['preset']}, NAND2 equivalents", "group", numbers=numbers)
        groups = dict.fromkeys(g for point in sweep["points"] for g in point["groups"])
        for group in groups:
            figures = [point["groups"].get(group, 0.0) for point in sweep["points"]]
            table.add_row(group, *(f"{figure:,.0f}" for figure in figures))
        yield table


def group_table(name: str, groups: Sequence[dict]):
    """Return the groups of a preset."""
    numbers = ["logic", "flip-flops", "SRAM", "total", "share", "depth"]
    table = new_table(f"Area of {name}, NAND2 equivalents", "group", numbers=numbers)
    for group in groups:
        keys = ("logic_nand2", "flip_flop_nand2", "sram_nand2", "nand2")
        table.add_row(
            group["name"],
            *(f"{group[key]:,.0f}" for key in keys),
            f"{group['share']:.1%}",
            f"{group['depth']}",
        )
    return table
