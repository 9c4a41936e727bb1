"""Measurements by the groups of `synth.groups`, the parts of a cluster as users know them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .groups import GROUPS
from .liberty import Library
from .macros import Macro, Tiling, tiling_of
from .measure import OTHER, BlockMeasurement, Measurement
from .memories import MemoryShape, memory_nand2

__all__ = ["GroupMeasurement", "Pricing", "group_measurements", "total_measurement"]


@dataclass(frozen=True, kw_only=True)
class Pricing:
    """Cost of memories: an estimate, or tiles of macros from a table.

    Parameters
    ----------
    library : Library or None
        Cell library, for areas in um2.
    macros : sequence of Macro
        The user's macros; used only with a library.

    """

    library: Library | None = None
    macros: Sequence[Macro] = ()

    def tiling(self, shape: MemoryShape) -> Tiling | None:
        """Return the tiles of a memory; None if it is estimated."""
        if not self.macros or self.library is None:
            return None
        return tiling_of(shape, self.macros, self.library.nand2)

    def nand2(self, shape: MemoryShape) -> float:
        """Return NAND2 equivalents of a memory."""
        tiling = self.tiling(shape)
        if tiling is None or self.library is None:
            return memory_nand2(shape)
        return tiling.area / self.library.nand2


@dataclass(frozen=True, kw_only=True)
class GroupMeasurement:
    """Sum of all instances of all blocks of a group.

    Parameters
    ----------
    name : str
        Name of the group.
    instances : int
        Instances of blocks.
    cells : int
        Word-level cells.
    logic_nand2, flip_flop_nand2 : float
        NAND2 equivalents of gates and of flip-flops.
    flip_flops : int
        Bits of state in flip-flops.
    sram_bits : Counter of str
        Bits in memories by kind of ports.
    sram_nand2 : float
        Estimated NAND2 equivalents of the memories.
    depth : int
        Depth of the deepest block, with the blocks it instantiates.
    logic_area, flip_flop_area, sram_area : float or None
        The same in um2, with a library.

    """

    name: str
    instances: int
    cells: int
    logic_nand2: float
    flip_flop_nand2: float
    flip_flops: int
    sram_bits: Counter[str]
    sram_nand2: float
    depth: int
    logic_area: float | None
    flip_flop_area: float | None
    sram_area: float | None

    @property
    def nand2(self) -> float:
        """Total NAND2 equivalents."""
        return self.logic_nand2 + self.flip_flop_nand2 + self.sram_nand2

    @property
    def area(self) -> float | None:
        """Total area in um2."""
        if self.logic_area is None or self.flip_flop_area is None or self.sram_area is None:
            return None
        return self.logic_area + self.flip_flop_area + self.sram_area


def group_measurements(measured: Measurement, pricing: Pricing) -> list[GroupMeasurement]:
    """Return the groups of a measurement, in the order of `GROUPS`."""
    sums = []
    for group in (*GROUPS, OTHER):
        counted = [(block, block.groups.get(group, 0)) for block in measured.blocks]
        if any(count for _, count in counted):
            sums.append(summed(group, [(b, n) for b, n in counted if n], pricing))
    return sums


def total_measurement(measured: Measurement, pricing: Pricing) -> GroupMeasurement:
    """Return all blocks as one group."""
    return summed("total", [(block, block.instances) for block in measured.blocks], pricing)


def summed(
    name: str, counted: Iterable[tuple[BlockMeasurement, int]], pricing: Pricing
) -> GroupMeasurement:
    """Return the sum of blocks, each times its count."""
    counted = list(counted)
    bits: Counter[str] = Counter()
    sram_nand2 = 0.0
    for block, count in counted:
        for shape, memories in block.memories.items():
            bits[shape.ports] += shape.bits * memories * count
            sram_nand2 += pricing.nand2(shape) * memories * count
    logic_area = flip_flop_area = sram_area = None
    if pricing.library is not None:
        flip_flop_area = sum((block.flip_flop_area or 0.0) * n for block, n in counted)
        logic_area = sum((block.area or 0.0) * n for block, n in counted) - flip_flop_area
        sram_area = sram_nand2 * pricing.library.nand2
    return GroupMeasurement(
        name=name,
        instances=sum(n for _, n in counted),
        cells=sum(block.cells * n for block, n in counted),
        logic_nand2=sum((block.nand2 - block.flip_flop_nand2) * n for block, n in counted),
        flip_flop_nand2=sum(block.flip_flop_nand2 * n for block, n in counted),
        flip_flops=sum(block.flip_flops * n for block, n in counted),
        sram_bits=bits,
        sram_nand2=sram_nand2,
        depth=max(block.depth for block, _ in counted),
        logic_area=logic_area,
        flip_flop_area=flip_flop_area,
        sram_area=sram_area,
    )
