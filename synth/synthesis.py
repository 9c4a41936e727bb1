"""Synthesis of one block by itself: cells, gates, memories and netlist."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..base.build_cache import digest
from .blocks import TOP, Block
from .cache import cached, source_key
from .memories import MemoryShape, memories_of
from .yosys import run_at_once, yosys_version

__all__ = [
    "MAPPING",
    "Synthesis",
    "netlist_of",
    "synthesis_key",
    "synthesise",
]

#: Script for the design below `top`: its word-level cells are counted before it is mapped by the
#: passes of `synth` without `memory_map`, so that memories stay whole.
MAPPING = """
hierarchy -check -top {top}
proc
flatten -noscopeinfo
chformal -remove

opt

tee -q -o words.json stat -json

opt_expr
opt_clean
opt -nodffe -nosdff
fsm
opt
wreduce
peepopt
opt_clean
alumacc
share
opt
memory -nomap
opt_clean
opt -fast -full
memory_map -rom-only
opt -full
techmap
opt -fast
abc
opt -fast
clean

write_json gates.json
"""
SCRIPT = "read_rtlil block.il" + MAPPING.format(top=TOP)

#: Cells that are bookkeeping of Yosys, not hardware.
NOT_HARDWARE = {"$meminit", "$meminit_v2", "$scopeinfo", "$print"}


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """Synthesis result of one block by itself, without the blocks it instantiates.

    Parameters
    ----------
    cells : int
        Word-level cells after ``proc; opt``.
    gates : Counter of str
        Gates and registers.
    memories : Counter of MemoryShape
        Memories, which stay whole.

    """

    cells: int
    gates: Counter[str]
    memories: Counter[MemoryShape]


def synthesis_key(block: Block) -> str:
    """Return a hash of everything that determines the synthesis of a block."""
    return digest([yosys_version(), SCRIPT, block.text])


def netlist_of(block: Block) -> dict[str, str]:
    """Return the netlist in ``gates.json`` and word-level cells in ``words.json``, as texts."""
    return cached(
        "netlist",
        synthesis_key(block),
        lambda: run_at_once(SCRIPT, {"block.il": block.text}, ["words.json", "gates.json"]),
    )


def synthesise(block: Block) -> Synthesis:
    """Return the synthesis of `block` from the cache or from Yosys."""
    key = digest([synthesis_key(block), source_key(Path(__file__).parent)])
    return cached("synth", key, lambda: counts_of(block))


def counts_of(block: Block) -> Synthesis:
    """Count the contents of a block's netlist, without the instances of other blocks."""
    words, gates = (json.loads(text)["modules"] for text in netlist_of(block).values())
    counts: Mapping[str, int] = words[f"\\{TOP}"].get("num_cells_by_type", {})
    mapped = Counter(cell["type"] for cell in gates[TOP]["cells"].values())
    return Synthesis(
        cells=sum(
            count
            for cell, count in counts.items()
            if cell not in NOT_HARDWARE and cell.removeprefix("\\") not in block.names
        ),
        gates=Counter({
            cell: count
            for cell, count in mapped.items()
            if cell not in block.names and not cell.startswith("$mem")
        }),
        memories=memories_of(gates[TOP]),
    )
