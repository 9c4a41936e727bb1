"""Cost budgets: upper limits of depth and cells."""

from ..hw.emit.shared_block import module_stem
from .measure import BlockMeasurement, Measurement

__all__ = [
    "CORE_CELLS",
    "DEPTH",
    "ELEMENT_CELLS",
    "MEMORY_CELLS",
    "STAGING_NAND2",
    "TENSOR_CORE_CELLS",
    "UNIT_CONTROL_CELLS",
    "UNIT_OPTION_NAND2",
    "blocks_of",
    "element_of",
    "too_deep",
    "with_children",
]

#: Gates between two registers. A plain four-stage multiply-add has 101, which is 37 MHz on ECP5.
DEPTH = 60
#: Word-level cells of one element of a systolic array for FP16; simulation time is proportional.
ELEMENT_CELLS = 160
#: Word-level cells of a core of 8 warps of 8 threads.
CORE_CELLS = 12_000
#: The same with a tensor unit, by its numerics.
TENSOR_CORE_CELLS = {"virgo_hmma": 19_000, "nvidia(volta)": 14_000, "fp32_rne": 16_000}
#: Areas in NAND2 equivalents of the memories of its fragments, for two instructions.
STAGING_NAND2 = 70_000
#: Areas in NAND2 equivalents, with memories, that options add to the matrix unit of `virgo` and the
#: DMA beside it.
UNIT_OPTION_NAND2 = {"row_scale": 160_000, "load_d": 20_000}
#: Word-level cells of the top block of that unit: commands, among them the first accumulator row of
#: each, sequencer, and registers around the array and the accumulator.
UNIT_CONTROL_CELLS = 1_300
#: Word-level cells of the blocks between the cores of `virgo` and DRAM.
MEMORY_CELLS = {
    "coalescer": 320,
    "L1I": 800,
    "L1D": 1_600,
    "masters of a core": 700,
    "path of a core": 4_600,
    "AXI multiplexer": 220,
    "reading ahead of the L2": 450,
    "slice of the L2": 2_000,
}

#: Classes of processing elements.
ELEMENTS = ("WeightStationaryProcessingElement", "OutputStationaryProcessingElement")
#: Child blocks of an element, emitted as separate modules.
ELEMENT_CHILDREN = ("MultiplyAdd",)


def too_deep(measured: Measurement) -> dict[str, int]:
    """Return the depth of each block beyond the budget, the top included."""
    return {block.name: block.depth for block in measured.blocks if block.depth > DEPTH}


def blocks_of(measured: Measurement, classes: tuple[str, ...]) -> list[BlockMeasurement]:
    """Return the blocks of the named classes."""
    names = tuple(f"{module_stem(name)}_" for name in classes)
    return [block for block in measured.blocks if block.name.startswith(names)]


def element_of(measured: Measurement) -> BlockMeasurement:
    """Return the processing element of a measured array or cluster."""
    (element,) = blocks_of(measured, ELEMENTS)
    return element


def with_children(measured: Measurement) -> int:
    """Return the word-level cells of a processing element, its multiply-add included."""
    element = element_of(measured)
    inside = blocks_of(measured, ELEMENT_CHILDREN)
    return element.cells + sum(
        block.cells * block.instances // element.instances for block in inside
    )
