"""Layouts of the signals between the blocks of a core."""

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ..config import PipelineConfig
from ..isa.operations import OPERATION_WIDTH, Port
from ..lib.interfaces.core_memory import warp_shape
from ..lib.interfaces.execution_unit import OPERANDS, REGISTER_WIDTH, beat_field

__all__ = [
    "acquire_field",
    "branch_layout",
    "decoded_layout",
    "group_fields",
    "issue_layout",
    "product_field",
    "read_layout",
    "register_layout",
]


def group_fields(config: PipelineConfig) -> dict[str, ShapeLike]:
    """Return the fields of an instruction on its register groups; none if no operation has any.

    ``grouped`` has a bit for ``rd`` and for each source that is the first register of a group.
    ``last`` is the number of the last micro-operation, one less than the size of the groups; 0
    without groups.
    """
    sizes = config.group_sizes
    return {"grouped": 1 + OPERANDS, "last": range(sizes[-1])} if sizes else {}


def product_field(config: PipelineConfig) -> dict[str, ShapeLike]:
    """Return the field of instructions that await the warp's products, if any do.

    Other serialising instructions do not wait for products, whose operands are in shared memory and
    whose results have a group of registers for themselves.
    """
    return {"awaits_products": 1} if config.awaits_products else {}


def acquire_field(config: PipelineConfig) -> dict[str, ShapeLike]:
    """Return the field of instructions that acquire, with atomics.

    The next instruction of the warp issues after everything before it has completed, and reads
    memory anew.
    """
    return {"acquires": 1} if config.atomics else {}


def decoded_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a decoded instruction, from the decoder to the scheduler.

    ``reads`` has a bit for each of ``sources`` that is a register; x0 is not, its operand is 0.
    ``writes`` is 1 if ``rd`` is a register other than x0. ``a_is_pc`` and ``b_is_immediate``
    replace operands 0 and 1. ``stalls_warp``: the instruction stalls the warp until it has executed
    (branches, control). ``serialises``: it serialises, and issues only after all earlier
    instructions of the warp were written, products only with ``awaits_products``.
    """
    return data.StructLayout({
        "pc": 32,
        "port": Port,
        "operation": OPERATION_WIDTH,
        "rd": REGISTER_WIDTH,
        "writes": 1,
        "sources": data.ArrayLayout(REGISTER_WIDTH, OPERANDS),
        "reads": OPERANDS,
        "immediate": 32,
        "rounding": 3,
        "a_is_pc": 1,
        "b_is_immediate": 1,
        "stalls_warp": 1,
        "serialises": 1,
        **acquire_field(config),
        **product_field(config),
        **group_fields(config),
    })


def issue_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of an instruction on its way to a collector.

    ``pending`` has a bit for each source that is not in the register banks yet and will arrive
    on a writeback bus. An instruction with register groups is one micro-operation, ``beat``.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "instruction": decoded_layout(config),
        "pending": OPERANDS,
        **beat_field(config),
    })


def register_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a register address: warp and register number."""
    return data.StructLayout({"warp": warp_shape(config), "register": REGISTER_WIDTH})


def branch_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the outcome of a branch or jump.

    ``target`` is the warp's next pc, taken or not. ``disagree`` marks the active threads with
    another target than the last active thread.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "pc": 32,
        "target": 32,
        "disagree": config.threads,
    })


def read_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of register data from the banks.

    ``mask`` marks the threads with valid ``values``: all of them with warp-wide banks, else at
    most as many as there are banks.
    """
    return data.StructLayout({
        "mask": config.threads,
        "values": data.ArrayLayout(32, config.threads),
    })
