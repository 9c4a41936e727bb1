"""Operand crossbars: from the banks to a collector, and from a bus to the banks."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import select
from ...lib.streams import ResponseSignature
from ..layouts import read_layout
from .bank_requests import rotate_left, rotate_right
from .register_map import RegisterMap, request_layout

__all__ = ["Crossbar", "Distributor"]


def word_at(words, number: Value) -> Value:
    """Return the entry of `words`, all equally wide, at index `number`, or 0 if out of range.

    Each bit of `number` halves the candidates: wide words take one operator per index bit.
    """
    width = len(Value.cast(words[0]))
    left = Cat(words)
    for position in reversed(range(len(number))):
        half = width << position
        left = Mux(number[position], left[half:], left[:half])
    return left


class Crossbar(SharedBlock):
    """Read crossbar: routes the bank data of one collector, one cycle after the request.

    Parameters
    ----------
    config : PipelineConfig
        The core.

    Members
    -------
    register : In(request_layout)
        Register read in this cycle.
    served : In(threads)
        Threads whose words are read in this cycle.
    answered : In(1)
        The banks answer this cycle's read.
    banks : In(32 * words).array(banks)
        Words read by the banks in the previous cycle.
    o : Out(ResponseSignature(read_layout))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.map = sizes = RegisterMap(config)
        super().__init__({
            "register": In(request_layout(config)),
            "served": In(config.threads),
            "answered": In(1),
            "banks": In(32 * sizes.words).array(config.banks),
            "o": Out(ResponseSignature(read_layout(config))),
        })

    def build(self, platform):
        m = Module()
        config, sizes = self.config, self.map
        register = self.register
        bank = Signal(sizes.bank_width, reset_less=True)  # with word-wide banks: bank of thread 0
        m.d.sync += self.o.valid.eq(self.answered)
        values = Value.cast(self.o.payload.values)
        if sizes.wide:
            m.d.sync += bank.eq(register.register + register.warp)
            m.d.comb += [
                self.o.payload.mask.eq(~0),
                values.eq(word_at(self.banks, bank)),
            ]
        else:
            m.d.sync += [bank.eq(register.register), self.o.payload.mask.eq(self.served)]
            # An expression, not a signal: a signal would be too wide for simulators.
            rotated = rotate_right(Cat(self.banks), bank, 32)
            m.d.comb += values.eq(rotated.replicate(sizes.parts)[: 32 * config.threads])
        return m


class Distributor(SharedBlock):
    """Write crossbar: routes the offered values of one bus to word-wide banks. Combinational.

    Parameters
    ----------
    config : PipelineConfig
        The core.

    Members
    -------
    register : In(bank_width)
        Lowest bits of the written register.
    offered : In(threads)
        Threads whose values are written, at most one per bank.
    values : In(ArrayLayout(32, threads))
    banks : Out(ArrayLayout(32, banks))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.map = RegisterMap(config)
        super().__init__({
            "register": In(self.map.bank_width),
            "offered": In(config.threads),
            "values": In(data.ArrayLayout(32, config.threads)),
            "banks": Out(data.ArrayLayout(32, config.banks)),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        words = Signal(data.ArrayLayout(32, config.banks))
        for offset in range(self.map.offsets):
            threads = range(offset, config.threads, config.banks)
            offered = Cat(self.offered[thread] for thread in threads)
            m.d.comb += words[offset].eq(select(offered, [self.values[t] for t in threads]))
        rotated = rotate_left(Value.cast(words), self.register, 32)
        m.d.comb += Value.cast(self.banks).eq(rotated)
        return m
