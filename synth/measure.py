"""Cost of a component: cells, NAND2 equivalents, flip-flops, memories, logic depth.

Every distinct block is synthesised once and multiplied by its instances. Figures of a block are
cached by a hash of its text, so a change costs only the synthesis of affected blocks.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from .blocks import Block
from .design import Design, design_of
from .gates import count_flip_flops, flip_flop_nand2, nand2_equivalents
from .groups import group_of
from .liberty import CellArea, Library, map_to, read_library
from .memories import MemoryShape
from .synthesis import Synthesis, synthesis_key, synthesise
from .timing.block_timing import timings_of

__all__ = ["OTHER", "BlockMeasurement", "Measurement", "in_order", "measure", "measure_design"]

#: Group of blocks that belong to none of `synth.groups`.
OTHER = "other"

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class BlockMeasurement:
    """One distinct block, without the blocks it instantiates except in its depth.

    Parameters
    ----------
    name : str
        Module name.
    instances : int
        Number of instances in the whole.
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
    flip_flop_nand2 : float
        Part of `nand2` in flip-flops.
    flip_flop_area : float or None
        Part of `area` in flip-flops.
    memories : Counter of MemoryShape
        Its memories.
    groups : mapping of str to int
        Number of instances in each group.

    """

    name: str
    instances: int
    cells: int
    nand2: float
    flip_flops: int
    sram_bits: int
    depth: int
    area: float | None = None
    flip_flop_nand2: float = 0.0
    flip_flop_area: float | None = None
    memories: Counter[MemoryShape] = field(default_factory=Counter)
    groups: Mapping[str, int] = field(default_factory=dict)


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


def measure(
    component,
    name: str,
    *,
    liberty: Path | None = None,
    workers: int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Measurement:
    """Synthesise `component` and return its cost.

    Parameters
    ----------
    component : Component
        Component to measure.
    name : str
        Name of the result, and of the top module unless it is a shared block.
    liberty : Path or None
        Cell library to map to, for an area besides the NAND2 equivalents.
    workers : int or None
        Blocks synthesised in parallel; None for the number of processors.
    progress : callable or None
        Receives the name of each block after its synthesis, and the number of blocks.

    """
    library = None if liberty is None else read_library(Path(liberty))
    design = design_of(component, name)
    return measure_design(design, name, library=library, workers=workers, progress=progress)


def measure_design(
    design: Design,
    name: str,
    *,
    library: Library | None = None,
    workers: int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Measurement:
    """Return the cost of a design; see `measure`."""

    def work(block: Block) -> tuple[Synthesis, CellArea | None]:
        return synthesise(block), None if library is None else map_to(library, block)

    results = in_order(design.blocks, work, workers, progress)
    depths = {block: timing.depth for block, timing in timings_of(design).items()}
    places = places_of(design)
    measured = []
    for block in reversed(design.order):  # parents first
        (synthesis, area), groups = results[block], places[block]
        measured.append(
            BlockMeasurement(
                name=block,
                instances=sum(groups.values()),
                cells=synthesis.cells,
                nand2=nand2_equivalents(synthesis.gates),
                flip_flops=count_flip_flops(synthesis.gates),
                flip_flop_nand2=flip_flop_nand2(synthesis.gates),
                memories=synthesis.memories,
                sram_bits=sum(shape.bits * n for shape, n in synthesis.memories.items()),
                depth=depths[block],
                area=None if area is None else area.total,
                flip_flop_area=None if area is None else area.flip_flops,
                groups=dict(groups),
            )
        )
    return total_of(name, measured, depths[design.top])


def total_of(name: str, blocks: list[BlockMeasurement], depth: int) -> Measurement:
    """Return the sum of the blocks, each times its instances."""
    areas = [block.area * block.instances for block in blocks if block.area is not None]
    return Measurement(
        name=name,
        cells=sum(block.cells * block.instances for block in blocks),
        nand2=sum(block.nand2 * block.instances for block in blocks),
        flip_flops=sum(block.flip_flops * block.instances for block in blocks),
        sram_bits=sum(block.sram_bits * block.instances for block in blocks),
        depth=depth,
        area=sum(areas) if areas else None,
        blocks=tuple(blocks),
    )


def in_order(
    blocks: Mapping[str, Block],
    work: Callable[[Block], Result],
    workers: int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> dict[str, Result]:
    """Return the results of `work` for every block, run in parallel, largest blocks first.

    Blocks of equal text are processed once.
    """
    alike: dict[str, list[str]] = {}
    for name, block in sorted(blocks.items(), key=lambda item: -len(item[1].text)):
        alike.setdefault(synthesis_key(block), []).append(name)
    results: dict[str, Result] = {}
    with ThreadPoolExecutor(workers or os.cpu_count() or 2) as pool:
        running = {pool.submit(work, blocks[names[0]]): names for names in alike.values()}
        try:
            for done in as_completed(running):
                for name in running[done]:
                    results[name] = done.result()
                    if progress is not None:
                        progress(name, len(blocks))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return results


def places_of(design: Design) -> dict[str, Counter[str]]:
    """Return for each block the number of instances in each group.

    A block whose class has no group belongs to the group of its parent.
    """
    places: dict[str, Counter[str]] = {name: Counter() for name in design.blocks}
    places[design.top][group_of(design.blocks[design.top].kind) or OTHER] = 1
    for name in reversed(design.order):
        for child, count in design.blocks[name].children.items():
            own = group_of(design.blocks[child].kind)
            for group, times in places[name].items():
                places[child][own or group] += count * times
    return places
