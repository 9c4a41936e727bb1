"""Iterative unit for division and square root."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ....emit.shared_block import SharedBlock
from .config import DivideSqrtConfig, DivideSqrtOperation
from .digit_recurrence import DigitRecurrence
from .finish import Finish
from .setup import Setup, start_layout

__all__ = ["DivideSqrt", "DivideSqrtConfig", "DivideSqrtOperation"]


class DivideSqrt(SharedBlock):
    """Division and square root: ``a / b`` or ``sqrt(a)``, rounded once (``fdiv``, ``fsqrt``).

    Iterative: `config.digits` bits of the result per cycle. Every operation of a format takes the
    same number of cycles, also for NaN, infinities, zeros and subnormals. Results leave in order.
    An unread result stays in the output register while the next operation runs. Only if that one
    is finished too, `i` is refused longer than stated here.

    ====  ==================  ==================================================================
    FP32  `digits` 4 (or n)   event, `o` being ready
    ====  ==================  ==================================================================
    0     0                   `i` is accepted: operands classified and normalised, first digit
    1     1                   the next n digits
    6     ceil(24 / n)        the last n digits
    7     `config.interval`   result rounded; the next operation is accepted
    8     `config.latency`    `o` is valid
    ====  ==================  ==================================================================

    Results and flags are those of IEEE 754 and RISC-V: five rounding modes, tininess detected
    after rounding, NaN canonical. `o.payload.flags` holds the exceptions of this operation alone.

    Parameters
    ----------
    config : DivideSqrtConfig

    Members
    -------
    i : In(stream.Signature(config.operation_layout))
        `operation`, `rounding`, `a`, `b` (for a division) and `tag` (if `config.tag_width`).
    o : Out(stream.Signature(config.result_layout))
        `result`, `flags` and `tag`.

    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: DivideSqrtConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(config.operation_layout)),
            "o": Out(stream.Signature(config.result_layout)),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        recurrence = config.recurrence
        m.submodules.setup = setup = Setup(config)
        m.submodules.step = step = DigitRecurrence(recurrence)
        m.submodules.finish = finish = Finish(config)

        start = Signal(start_layout(config), reset_less=True)
        remainder = Signal(recurrence.remainder_width, reset_less=True)
        operand = Signal(config.form.significand_width, reset_less=True)
        digits = Signal(recurrence.result_width, reset_less=True)
        m.d.comb += [
            setup.i.eq(self.i.payload),
            step.is_root.eq(start.is_root),
            step.remainder.eq(remainder),
            step.operand.eq(operand),
            step.result.eq(digits),
            finish.start.eq(start),
            finish.digits.eq(digits),
            finish.is_inexact.eq(remainder.any()),
        ]
        accept, iterate, round_now = self.control(m)
        with m.If(accept):
            m.d.sync += [
                start.eq(setup.start),
                remainder.eq(setup.remainder),
                operand.eq(setup.operand),
                digits.eq(1),
            ]
        with m.Elif(iterate):
            m.d.sync += [
                remainder.eq(step.remainder_o),
                operand.eq(step.operand_o),
                digits.eq(step.result_o),
            ]

        output = Signal(config.result_layout, reset_less=True)
        m.d.comb += self.o.payload.eq(output)
        with m.If(round_now):
            m.d.sync += output.eq(finish.o)
        return m

    def control(self, m):
        """Return the strobes `accept`, `iterate` (find digits) and `round_now`."""
        cycles = self.config.recurrence.cycles
        busy = Signal()
        cycles_left = Signal(range(cycles + 1))
        accept = Signal()
        iterate = Signal()
        round_now = Signal()
        m.d.comb += [
            iterate.eq(cycles_left != 0),
            round_now.eq(busy & ~iterate & (~self.o.valid | self.o.ready)),
            self.i.ready.eq(~busy | round_now),
            accept.eq(self.i.valid & self.i.ready),
        ]
        with m.If(accept):
            m.d.sync += [busy.eq(1), cycles_left.eq(cycles)]
        with m.Elif(iterate):
            m.d.sync += cycles_left.eq(cycles_left - 1)
        with m.Elif(round_now):
            m.d.sync += busy.eq(0)
        with m.If(round_now):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return accept, iterate, round_now
