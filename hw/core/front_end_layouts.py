"""Layouts of the signals inside the front end, and between it and the rest of the core."""

from typing import Any

from amaranth.lib import data
from amaranth.utils import ceil_log2

from ..config import PipelineConfig
from ..isa.operations import ControlOperation, Port
from ..lib.interfaces.core_memory import warp_shape
from .layouts import decoded_layout

__all__ = [
    "entry_layout",
    "head_layout",
    "position_width",
    "redirect_layout",
    "refusal",
]


def position_width(config: PipelineConfig) -> int:
    """Return the bits of a word index that relate the next word to take to the next to fetch."""
    return ceil_log2(config.instruction_buffer + 2)


def redirect_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a redirect: the warp continues at ``pc``, a multiple of 4."""
    return data.StructLayout({"warp": warp_shape(config), "pc": 32})


def entry_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a decoded instruction in a buffer; the slot implies its pc."""
    fields = {name: field.shape for name, field in decoded_layout(config)}
    del fields["pc"]
    return data.StructLayout(fields)


def head_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the next instruction of a warp, with a valid bit."""
    return data.StructLayout({"valid": 1, "instruction": decoded_layout(config)})


def refusal(instruction: Any, operation: ControlOperation) -> list[Any]:
    """Return the assignments that make an instruction a control operation that faults."""
    return [
        instruction.port.eq(Port.CONTROL),
        instruction.operation.eq(operation),
        instruction.reads.eq(0),
        instruction.writes.eq(0),
        instruction.stalls_warp.eq(1),
        instruction.serialises.eq(1),
    ]
