"""Benchmark of budgets: cells, depth and bytes of Verilog of the presets."""

from collections.abc import Iterator

from spica.cli.options import new_table
from spica.cli.progress import counting_blocks
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS, CoreBlockConfig
from spica.hw.core.core import Core
from spica.sim.engine.emission_cache import emit_cached
from spica.synth.area import area_report, measure_cluster
from spica.synth.budgets import CORE_CELLS, DEPTH, ELEMENT_CELLS, MEMORY_CELLS, with_children
from spica.synth.measure import measure as measure_block

from .memory_parts import memory_parts
from .target import Target

__all__ = ["measure", "tables"]


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every preset, the small one first."""
    result: dict = {"presets": {}, "targets": []}
    for preset in ["tiny_matrix"] if quick else ["tiny_matrix", "matrix"]:
        config = PRESETS[preset]
        measured = measure_cluster(config, preset, progress=counting_blocks(tell, preset))
        tell(f"generating {preset}", 0, 0)
        emission = emit_cached(config, preset)
        result["presets"][preset] = area_report(measured) | {
            "verilog_bytes": len(emission.verilog.encode()),
            "verilog_lines": emission.verilog.count("\n"),
            "distinct_blocks": len(emission.modules) + 1,
            "modules": emission.verilog.count("\nendmodule\n"),
            "element_cells": with_children(measured),
        }
        result["targets"] += [
            Target(
                name=f"word-level cells of a processing element, {preset}",
                value=with_children(measured),
                limit=ELEMENT_CELLS,
            ).as_dict(),
            *(
                Target(
                    name=f"depth of {block.name}, {preset}", value=block.depth, limit=DEPTH
                ).as_dict()
                for block in measured.blocks
            ),
        ]
        yield result
    if quick:
        return
    tell("synthesising a core", 0, 0)
    measured = measure_block(Core(CoreBlockConfig.of(PRESETS["core"])), "core")
    result["core"] = area_report(measured)
    result["targets"] += [
        Target(name="word-level cells of a core", value=measured.cells, limit=CORE_CELLS).as_dict(),
        Target(name="depth of a core", value=measured.depth, limit=DEPTH).as_dict(),
    ]
    yield result
    yield from measure_memory(result, tell)


def measure_memory(result: dict, tell: Progress) -> Iterator[dict]:
    """Yield the result after every part between the cores of `virgo` and DRAM."""
    result["memory"] = {}
    parts = memory_parts(PRESETS["virgo"])
    for done, (name, part) in enumerate(parts.items()):
        tell("synthesising the memory path", done, len(parts))
        measured = measure_block(part, "part")
        result["memory"][name] = area_report(measured)
        limits = {"word-level cells": MEMORY_CELLS[name], "depth": DEPTH}
        found = {"word-level cells": measured.cells, "depth": measured.depth}
        result["targets"] += [
            Target(name=f"{what} of the {name}", value=found[what], limit=limit).as_dict()
            for what, limit in limits.items()
        ]
        yield result


def tables(result: dict) -> Iterator:
    """Yield the costs of each preset, of a core, and of the memory path."""
    table = new_table(
        "Presets",
        "preset",
        numbers=[
            *("cells", "per element", "NAND2 eq", "SRAM bits", "depth"),
            *("distinct blocks", "Verilog modules", "lines", "bytes"),
        ],
    )
    for name, preset in result["presets"].items():
        counts = ("cells", "element_cells", "nand2", "sram_bits", "depth")
        texts = ("distinct_blocks", "modules", "verilog_lines", "verilog_bytes")
        table.add_row(name, *(f"{preset[key]:,.0f}" for key in (*counts, *texts)))
    yield table
    if "core" in result:
        yield cost_table("A core of 8 warps x 8 threads", {"core": result["core"]})
    if "memory" in result:
        yield cost_table("Between the cores of virgo and DRAM", result["memory"])
    yield "Cells are word-level cells after proc; opt. Depth is in gates between registers."


def cost_table(title: str, parts: dict[str, dict]):
    """Return the cost table of parts."""
    numbers = ["cells", "NAND2 eq", "flip-flops", "SRAM bits", "depth"]
    keys = ("cells", "nand2", "flip_flops", "sram_bits", "depth")
    table = new_table(title, "part", numbers=numbers)
    for name, part in parts.items():
        table.add_row(name, *(f"{part[key]:,.0f}" for key in keys))
    return table
