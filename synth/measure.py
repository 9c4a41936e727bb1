"""What a component costs: cells, NAND2 equivalents, flip-flops, SRAM bits, logic depth.

Every distinct block is synthesised once and multiplied by its instances; figures of a block are
cached under a hash of its text, so a change costs the synthesis of what it touches.
"""

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from amaranth.hdl import Fragment

from ..hw.emit import Emitter, SharedBlock, module_name, signature_ports
from .blocks import Block, split_blocks
from .cache import cached
from .depth import Timing, block_timing
from .gates import count_flip_flops, memory_bits, nand2_equivalents
from .yosys import run_yosys, yosys_version

__all__ = ["BlockMeasurement", "Measurement", "measure"]

#: `synth` without its `memory_map`: memories stay whole. Word-level cells are counted first.
SCRIPT = """
read_rtlil block.il
hierarchy -check -top {top}
proc
flatten -noscopeinfo
chformal -remove
opt
tee -q -o words.json stat -json
synth -run coarse:fine
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

LIBERTY_SCRIPT = """
dfflibmap -liberty cells.lib
abc -liberty cells.lib
clean
tee -q -o area.json stat -json -liberty cells.lib
"""

#: Cells that are bookkeeping of Yosys, not hardware.
NOT_HARDWARE = {"$meminit", "$meminit_v2", "$scopeinfo", "$print"}


@dataclass(frozen=True, kw_only=True)
class BlockMeasurement:
    """One distinct block, without the blocks it instantiates except in its depth.

    Parameters
    ----------
    name : str
        Module name.
    instances : int
        How often it stands in the whole.
    cells : int
        Word-level cells after ``proc; opt``.
    nand2 : float
        NAND2 equivalents of gates and flip-flops, by the weights of `synth.gates`.
    flip_flops : int
        Bits of state in flip-flops, part of `nand2`.
    sram_bits : int
        Bits in memories, not part of `nand2`.
    depth : int
        Gates on the longest path between registers, memories and ports, other blocks included.
    area : float or None
        Square micrometres of gates and flip-flops in a cell library, if one was given.

    """

    name: str
    instances: int
    cells: int
    nand2: float
    flip_flops: int
    sram_bits: int
    depth: int
    area: float | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A component with everything below it; see `BlockMeasurement` for the units."""

    name: str
    cells: int
    nand2: float
    flip_flops: int
    sram_bits: int
    depth: int
    area: float | None
    blocks: tuple[BlockMeasurement, ...]


@dataclass(frozen=True, kw_only=True)
class _Synthesis:
    """What Yosys says of one block by itself."""

    words: Counter[str]
    gates: Counter[str]
    sram_bits: int
    netlist: dict
    area: float | None


def measure(
    component,
    name: str,
    *,
    liberty: Path | None = None,
    workers: int = 2,
    progress: Callable[[str, int], None] | None = None,
) -> Measurement:
    """Synthesise `component` and return what it costs.

    Parameters
    ----------
    component : Component
        What is measured.
    name : str
        What the result is called, and the top module unless it is a shared block.
    liberty : Path or None
        A cell library to map to for an area beside the NAND2 equivalents.
    workers : int
        Blocks synthesised side by side.
    progress : callable or None
        Told the name of each block once it is synthesised, and the number of blocks.

    """
    text, top = rtlil_of(component, name)
    blocks = split_blocks(text)
    library = None if liberty is None else Path(liberty).read_text()

    def synthesise(block: Block) -> _Synthesis:
        result = _synthesise(block, blocks, library)
        if progress is not None:
            progress(block.name, len(blocks))
        return result

    with ThreadPoolExecutor(workers) as pool:
        results = dict(zip(blocks, pool.map(synthesise, blocks.values()), strict=True))
    return _total(name, top, blocks, results)


def rtlil_of(component, name: str) -> tuple[str, str]:
    """Return the RTLIL of `component` and every shared block below it, and its top module.

    A shared block keeps the module name it has everywhere, so that its synthesis is found in the
    cache whether it is measured by itself or as part of a cluster.
    """
    emitter = Emitter()
    if isinstance(component, SharedBlock):
        Fragment.get(component, emitter)
        return "".join(emitter.modules.values()), module_name(component)
    text, _ = emitter.convert(component, list(signature_ports(component, "_")), name)
    return text + "".join(emitter.modules.values()), name


def _synthesise(block: Block, blocks: dict[str, Block], library: str | None) -> _Synthesis:
    """Return the synthesis of `block` from the cache or from Yosys."""
    source = block.text + "".join(blocks[child].stub for child in sorted(block.children))
    script = SCRIPT.format(top=f"\\{block.name}") + (LIBERTY_SCRIPT if library else "")
    files = {"block.il": source} | ({"cells.lib": library} if library else {})
    results = ["words.json", "gates.json"] + (["area.json"] if library else [])
    texts = cached(
        "synth",
        [yosys_version(), script, *files.values()],
        lambda: run_yosys(script, files, results),
    )
    key = f"\\{block.name}"
    words = json.loads(texts["words.json"])["modules"][key]["num_cells_by_type"]
    netlist = json.loads(texts["gates.json"])["modules"][block.name]
    gates = Counter(cell["type"] for cell in netlist["cells"].values())
    for child in block.children:
        gates.pop(child, None)
    area = json.loads(texts["area.json"])["modules"][key].get("area", 0.0) if library else None
    return _Synthesis(
        words=Counter({
            cell: count
            for cell, count in words.items()
            if cell not in NOT_HARDWARE and cell not in block.children
        }),
        gates=Counter({cell: n for cell, n in gates.items() if not cell.startswith("$mem")}),
        sram_bits=memory_bits(netlist),
        netlist=netlist,
        area=area,
    )


def _total(
    name: str, top: str, blocks: dict[str, Block], results: dict[str, _Synthesis]
) -> Measurement:
    """Add up the blocks, each times its instances."""
    graph = {name: set(block.children) for name, block in blocks.items()}
    order = list(TopologicalSorter(graph).static_order())  # children first
    timings: dict[str, Timing] = {}
    for block in order:
        children = {child: timings[child] for child in blocks[block].children}
        timings[block] = block_timing(results[block].netlist, children)
    instances = Counter({top: 1})
    for block in reversed(order):
        for child, count in blocks[block].children.items():
            instances[child] += count * instances[block]

    measured = tuple(
        BlockMeasurement(
            name=block,
            instances=instances[block],
            cells=results[block].words.total(),
            nand2=nand2_equivalents(results[block].gates),
            flip_flops=count_flip_flops(results[block].gates),
            sram_bits=results[block].sram_bits,
            depth=timings[block].depth,
            area=results[block].area,
        )
        for block in reversed(order)
    )
    areas = [block.area * block.instances for block in measured if block.area is not None]
    return Measurement(
        name=name,
        cells=sum(block.cells * block.instances for block in measured),
        nand2=sum(block.nand2 * block.instances for block in measured),
        flip_flops=sum(block.flip_flops * block.instances for block in measured),
        sram_bits=sum(block.sram_bits * block.instances for block in measured),
        depth=timings[top].depth,
        area=sum(areas) if areas else None,
        blocks=measured,
    )
