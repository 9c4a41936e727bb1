"""What the presets cost against their budgets: cells, depth, bytes of Verilog."""

from collections.abc import Callable, Iterator

from spica.cli.options import new_table
from spica.hw.config import PRESETS
from spica.sim.emissions import emit_cached
from spica.synth.area import area_report, measure_cluster
from spica.synth.budgets import DEPTH, ELEMENT_CELLS, with_children

from .target import Target

__all__ = ["measure", "tables"]


def measure(quick: bool, tell: Callable[[str, int, int], None]) -> Iterator[dict]:
    """Yield the result after every preset, the small one first."""
    result: dict = {"presets": {}, "targets": []}
    for preset in ["tiny_matrix"] if quick else ["tiny_matrix", "matrix"]:
        config = PRESETS[preset]
        done = 0

        def advance(block: str, blocks: int, preset: str = preset):
            nonlocal done
            done += 1
            tell(f"synthesising {preset}", done, blocks)

        tell(f"synthesising {preset}", 0, 0)
        measured = measure_cluster(config, preset, progress=advance)
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


def tables(result: dict) -> Iterator:
    """Yield the costs of each preset, and of each its blocks, the deepest first."""
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
    yield "Cells are word-level cells after proc; opt. Depth is in gates between registers."
