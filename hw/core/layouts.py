"""What flows between the boxes of a core."""

from amaranth.lib import data

from ..config import CoreConfig
from ..lib.interfaces.core_memory import warp_shape
from .operations import OPERATION_WIDTH, Port

__all__ = [
    "REGISTERS",
    "REGISTER_WIDTH",
    "branch_layout",
    "decoded_layout",
    "issue_layout",
    "operation_layout",
    "read_layout",
    "register_layout",
    "result_layout",
]

#: Registers of a thread: x0 to x31 are 0 to 31, f0 to f31 are 32 to 63. x0 is read as an operand
#: that is not read, and never written.
REGISTERS = 64
REGISTER_WIDTH = 6
OPERANDS = 3


def decoded_layout() -> data.StructLayout:
    """Layout of a decoded instruction, from the decoder to the scheduler.

    ``reads`` has a bit for each of ``sources`` that is a register (x0 is none: the operand is 0),
    ``writes`` is 1 if ``rd`` is a register other than x0. ``a_is_pc`` and ``b_is_immediate``
    replace operands 0 and 1. ``blocks``: nothing of the warp is issued after this until it has
    been carried out (branches, control). ``drains``: it is issued only when everything of the
    warp that was issued before has been written.
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
        "blocks": 1,
        "drains": 1,
    })


def issue_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an instruction on its way to a collector.

    ``pending`` has a bit for each source that is not in the register banks yet and will come over
    a writeback bus.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "instruction": decoded_layout(),
        "pending": OPERANDS,
    })


def operation_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an instruction with its operands, from a collector to a unit.

    ``operands[k][thread]``; what is not read is 0, unless ``a_is_pc`` or ``b_is_immediate`` say
    what stands for it.
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
        "operands": data.ArrayLayout(data.ArrayLayout(32, config.threads), OPERANDS),
    })


def register_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of the name of a register: of which warp, and which."""
    return data.StructLayout({"warp": warp_shape(config), "register": REGISTER_WIDTH})


def result_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a result, from a unit to a writeback bus, and on the bus.

    ``writes`` is 0 where an instruction only has to be known to be done. ``flags`` are those that
    floating-point operations of all active threads raised.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "pc": 32,
        "rd": REGISTER_WIDTH,
        "writes": 1,
        "flags": 5,
        "values": data.ArrayLayout(32, config.threads),
    })


def branch_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of what a branch or jump came to.

    ``target`` is where the warp goes on, be it the next instruction. ``disagree`` has the active
    threads whose own target is another than that of the last active thread.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "pc": 32,
        "target": 32,
        "disagree": config.threads,
    })


def read_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of registers as they come from the banks.

    ``mask`` has the threads whose ``values`` these are: all of them where banks are as wide as a
    warp, else as many as there are banks.
    """
    return data.StructLayout({
        "mask": config.threads,
        "values": data.ArrayLayout(32, config.threads),
    })
