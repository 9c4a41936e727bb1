"""Interrupt of a machine: it became idle, or an error appeared."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..emit.component import Component
from ..isa.memory_map import INTERRUPTS

__all__ = ["Interrupts", "write_layout"]

#: Bit of the status register that reports an error; the others report work.
ERROR_BIT = 2


def write_layout() -> data.StructLayout:
    """Layout of a write: its word, and whether it is to each of the registers."""
    return data.StructLayout({"word": len(INTERRUPTS), "enable": 1, "pending": 1})


class Interrupts(Component):
    """Interrupts: an event sets its bit of `pending`, which raises the output if it is enabled.

    The events are those of `memory_map.INTERRUPTS`. A bit stays set until a 1 is written to it; an
    event in the cycle of that write is not lost. The output is a register: it follows `pending` and
    `enable` one cycle later, and an event two cycles later.

    Parameters
    ----------
    status_width : int

    Members
    -------
    status : In(status_width)
        Bits of the status register. A rise of bit `ERROR_BIT` is the event ``error``; the fall of
        the last of all other bits, each of which shows unfinished work, is the event ``done``.
    write : In(write_layout())
        Its word becomes `enable`, or its ones are cleared in `pending`.
    enable, pending : Out(events)
    irq : Out(1)
    """

    def __init__(self, status_width: int):
        events = len(INTERRUPTS)
        super().__init__({
            "status": In(status_width),
            "write": In(write_layout()),
            "enable": Out(events),
            "pending": Out(events),
            "irq": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        works, worked, error, failed = Signal(), Signal(), Signal(), Signal()
        events = {"done": worked & ~works, "error": error & ~failed}
        cleared = Mux(self.write.pending, self.write.word, 0)
        m.d.comb += [
            error.eq(self.status[ERROR_BIT]),
            works.eq((self.status & ~(1 << ERROR_BIT)).any()),
        ]
        m.d.sync += [
            worked.eq(works),
            failed.eq(error),
            self.pending.eq(self.pending & ~cleared | Cat(events[name] for name in INTERRUPTS)),
            self.irq.eq((self.pending & self.enable).any()),
        ]
        with m.If(self.write.enable):
            m.d.sync += self.enable.eq(self.write.word)
        return m
