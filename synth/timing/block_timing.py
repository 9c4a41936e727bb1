"""Logic depth of all blocks of a design, children first, each once."""

import json
from pathlib import Path

from ...base.build_cache import digest
from ..blocks import TOP
from ..cache import cached, source_key
from ..design import Design
from ..synthesis import netlist_of, synthesis_key
from .netlist_depth import Timing, block_timing

__all__ = ["timings_of"]


def timings_of(design: Design) -> dict[str, Timing]:
    """Return the timing of every block, including the blocks it instantiates."""
    timings: dict[str, Timing] = {}
    keys: dict[str, str] = {}
    sources = source_key(Path(__file__).parents[1])
    for name in design.order:
        block = design.blocks[name]

        def analyse(block=block) -> Timing:
            module = json.loads(netlist_of(block)["gates.json"])["modules"][TOP]
            children = {cell: timings[child] for cell, child in block.names.items()}
            return block_timing(module, children)

        children = [keys[child] for child in block.names.values()]
        keys[name] = digest([sources, synthesis_key(block), *children])
        timings[name] = cached("timing", keys[name], analyse)
    return timings
