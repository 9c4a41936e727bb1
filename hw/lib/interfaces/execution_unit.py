"""Interface of an execution unit: operations from a collector, results to a writeback bus."""

from typing import Any

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream

from ...config import PipelineConfig
from ...isa.operations import OPERATION_WIDTH
from .core_memory import warp_shape

__all__ = [
    "OPERANDS",
    "REGISTERS",
    "REGISTER_WIDTH",
    "beat_field",
    "begins",
    "ends",
    "more_field",
    "operation_layout",
    "result_layout",
]

#: Registers of a thread: x0 to x31 are 0 to 31, f0 to f31 are 32 to 63. A source x0 counts as not
#: read, and x0 is never written.
REGISTERS = 64
REGISTER_WIDTH = 6
OPERANDS = 3


def beat_field(config: PipelineConfig) -> dict[str, ShapeLike]:
    """Return the field with the number of a micro-operation; none if no operation has groups."""
    sizes = config.group_sizes
    return {"beat": range(sizes[-1])} if sizes else {}


def more_field(config: PipelineConfig) -> dict[str, ShapeLike]:
    """Return the field that marks all results but an instruction's last; none without groups."""
    return {"more": 1} if config.group_sizes else {}


def begins(source: stream.Interface) -> Value:
    """Return whether an instruction, not a later micro-operation of it, leaves on this stream."""
    leaves = source.valid & source.ready
    has_beat = "beat" in source.payload.shape().members
    return leaves & (source.payload.beat == 0) if has_beat else leaves


def ends(bus: Any) -> Value:
    """Return whether an instruction completes with the result on this writeback bus."""
    has_more = "more" in bus.payload.shape().members
    return bus.valid & ~bus.payload.more if has_more else bus.valid


def operation_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of an instruction with its operands, from a collector to a unit.

    ``operands[k][thread]``; unread operands are 0, unless ``a_is_pc`` or ``b_is_immediate``
    replaces them. ``beat`` is the number of the micro-operation, for operations with register
    groups.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "pc": 32,
        "operation": OPERATION_WIDTH,
        "rd": REGISTER_WIDTH,
        "writes": 1,
        "immediate": 32,
        "rounding": 3,
        "a_is_pc": 1,
        "b_is_immediate": 1,
        **beat_field(config),
        "operands": data.ArrayLayout(data.ArrayLayout(32, config.threads), OPERANDS),
    })


def result_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a result, from a unit to a writeback bus, and on the bus.

    ``writes`` is 0 for an instruction that only reports completion. ``flags`` is the union of
    the float flags of all active threads. ``more``: other results of the instruction follow, for
    operations with register groups.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "pc": 32,
        "rd": REGISTER_WIDTH,
        "writes": 1,
        "flags": 5,
        **more_field(config),
        "values": data.ArrayLayout(32, config.threads),
    })
