"""Step sequencer of the tensor unit: one step of the oldest matrix product per cycle."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.component import Component
from ...lib.streams import ResponseSignature
from .config import RegisterFedConfig
from .layouts import step_layout
from .signatures import RegisterStartSignature

__all__ = ["StepSequencer"]


class StepSequencer(Component):
    """Step sequencer: starts the steps of each matrix product in order, at most one per cycle.

    A step waits until the registers that it reads are gathered, and if its result leaves the unit,
    until the writeback queue has room. Products follow each other without a gap. Combinational from
    `gathered` and the queue to `o`.

    Parameters
    ----------
    config : RegisterFedConfig

    Members
    -------
    gathered : In(range(registers + 1))
        Registers present of each operand of the oldest product.
    queue : Out(RegisterStartSignature())
        Registers of the last set, to the writeback queue.
    o : Out(ResponseSignature(step_layout(config)))
        Starts this step.
    release : Out(1)
        The last step that reads staging: later ones of this product read nothing more.
    """

    def __init__(self, config: RegisterFedConfig):
        self.config = config
        super().__init__({
            "gathered": In(range(config.registers + 1)),
            "queue": Out(RegisterStartSignature()),
            "o": Out(ResponseSignature(step_layout(config))),
            "release": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        number = Signal(range(config.steps))
        step, go, queue, leaves = self.o.payload, self.o.valid, self.queue, Signal()
        is_first = step.part == 0
        # Staging is complete once a later set began. With one set, the first step needs it all.
        is_later = step.set.any() if config.sets > 1 else number.any()
        is_there = (self.gathered >= max(config.step_registers)) & (self.gathered > step.register)
        m.d.comb += [
            Value.cast(step).eq(number),
            leaves.eq(step.set == config.sets - 1),  # the results leave the unit
            go.eq((is_later | is_there) & (queue.room | ~(leaves & is_first))),
            queue.start.eq(go & leaves & is_first),
            queue.begin.eq(queue.start & (step.register == 0)),
        ]
        if config.sets > 1:
            m.d.comb += self.release.eq(queue.begin)
        else:
            m.d.comb += self.release.eq(go & is_first & (step.register == config.registers - 1))
        with m.If(go):
            m.d.sync += number.eq(number + 1)
        return m
