"""Beats of the integer unit: the layouts of its operands, results and products."""

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ....config import PipelineConfig
from ....isa.operations import Port
from ....lib.interfaces.execution_unit import operation_layout
from ..lane_dispatch import BeatsConfig
from ..writeback_slots import WritebackSlotsConfig

__all__ = ["PASSED", "operand_beats", "result_beats", "slots_config"]

#: Fields copied from an operation to its result.
PASSED = ("warp", "mask", "pc", "rd", "writes")


def shapes(config: PipelineConfig, names: tuple[str, ...]) -> dict[str, ShapeLike]:
    """Return the shapes of the named members of an operation."""
    members = operation_layout(config).members
    return {name: members[name] for name in names}


def operand_beats(config: PipelineConfig) -> BeatsConfig:
    """Return the beats of operations: ``a`` and ``b`` of each thread.

    ``relative`` is pc plus immediate, ``next`` the pc of the following instruction. ``sources`` has
    operand 0 of all threads of the warp, for votes and shuffles.
    """
    passed = shapes(config, (*PASSED, "operation"))
    sources = {"sources": data.ArrayLayout(32, config.threads)} if config.warp_operations else {}
    return BeatsConfig(
        threads=config.threads,
        lanes=config.lanes(Port.INT),
        common=data.StructLayout({**passed, "relative": 32, "next": 32, **sources}),
        per_thread={"a": 32, "b": 32},
    )


def slots_config(config: PipelineConfig) -> WritebackSlotsConfig:
    """Return the writeback slots of results, of which products are late.

    ``is_high`` selects the upper half of a product.
    """
    return WritebackSlotsConfig(
        latency=config.multiply_latency,
        common=data.StructLayout({**shapes(config, PASSED), "is_high": 1}),
        value=data.ArrayLayout(32, config.lanes(Port.INT)),
    )


def result_beats(config: PipelineConfig) -> BeatsConfig:
    """Return the beats of results: a value of each thread."""
    return BeatsConfig(
        threads=config.threads,
        lanes=config.lanes(Port.INT),
        common=slots_config(config).common,
        per_thread={"values": 32},
    )
