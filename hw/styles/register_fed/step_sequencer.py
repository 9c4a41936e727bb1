"""Step sequencer of the tensor unit: one step of the oldest matrix product per cycle."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.component import Component
from .config import RegisterFedConfig
from .layouts import step_layout

__all__ = ["StepSequencer"]


class StepSequencer(Component):
    """Step sequencer: starts the steps of each matrix product in order, at most one per cycle.

    A step waits until the registers that it reads are gathered, and if its result leaves the unit,
    until `room` is set. Products follow each other without a gap. Combinational from `gathered`
    and `room` to `go`.

    Parameters
    ----------
    config : RegisterFedConfig

    Members
    -------
    gathered : In(range(registers + 1))
        Registers present of each operand of the oldest product.
    room : In(1)
        The writeback queue accepts one more register; read only in the first step for a register.
    go : Out(1), step : Out(step_layout(config))
        Starts this step.
    leaves : Out(1)
        The results of `step` leave the unit: it is of the last set.
    begins_last : Out(1)
        The step is the first one of the last set.
    release : Out(1)
        The last step that reads staging: later ones of this product read nothing more.
    """

    def __init__(self, config: RegisterFedConfig):
        self.config = config
        super().__init__({
            "gathered": In(range(config.registers + 1)),
            "room": In(1),
            "go": Out(1),
            "step": Out(step_layout(config)),
            "leaves": Out(1),
            "begins_last": Out(1),
            "release": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        number = Signal(range(config.steps))
        step = self.step
        is_first = step.part == 0
        # Staging is complete once a later set began. With one set, the first step needs it all.
        is_later = step.set.any() if config.sets > 1 else number.any()
        is_there = (self.gathered >= max(config.step_registers)) & (self.gathered > step.register)
        m.d.comb += [
            Value.cast(step).eq(number),
            self.leaves.eq(step.set == config.sets - 1),
            self.go.eq((is_later | is_there) & (self.room | ~(self.leaves & is_first))),
            self.begins_last.eq(self.go & self.leaves & is_first & (step.register == 0)),
        ]
        if config.sets > 1:
            m.d.comb += self.release.eq(self.begins_last)
        else:
            m.d.comb += self.release.eq(
                self.go & is_first & (step.register == config.registers - 1)
            )
        with m.If(self.go):
            m.d.sync += number.eq(number + 1)
        return m
