"""Operand crossbars: from the banks to a collector, and from a bus to the banks."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.execution_unit import result_layout
from ...lib.one_hot import select
from ...lib.streams import ResponseSignature
from ..layouts import read_layout
from .bank_ports import BankRowSignature
from .bank_requests import ReadServiceSignature, rotate_left, rotate_right
from .register_map import RegisterMap, request_layout

__all__ = ["Crossbar", "Distributor"]


def word_at(words: Sequence[Value], number: Value) -> Value:
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
    service : In(ReadServiceSignature(config))
    banks : In(32 * words).array(banks)
        Words read by the banks in the previous cycle.
    o : Out(ResponseSignature(read_layout))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.map = sizes = RegisterMap(config)
        super().__init__({
            "service": In(ReadServiceSignature(config)),
            "banks": In(32 * sizes.words).array(config.banks),
            "o": Out(ResponseSignature(read_layout(config))),
        })

    def build(self, platform):
        m = Module()
        config, sizes = self.config, self.map
        register = self.service.register
        bank = Signal(sizes.bank_width, reset_less=True)  # with word-wide banks: bank of thread 0
        m.d.sync += self.o.valid.eq(self.service.answered)
        values = Value.cast(self.o.payload.values)
        if sizes.wide:
            m.d.sync += bank.eq(register.register + register.warp)
            m.d.comb += [
                self.o.payload.mask.eq(~0),
                values.eq(word_at(self.banks, bank)),
            ]
        else:
            m.d.sync += [bank.eq(register.register), self.o.payload.mask.eq(self.service.served)]
            # An expression, not a signal: a signal would be too wide for simulators.
            rotated = rotate_right(Cat(self.banks), bank, 32)
            m.d.comb += values.eq(rotated.replicate(sizes.parts)[: 32 * config.threads])
        return m


class Distributor(SharedBlock):
    """Write crossbar: routes the result on a bus to the banks of its register. Combinational.

    Word-wide banks get the values of the offered threads, at most one per bank. A result without
    a write is accepted at once.

    Parameters
    ----------
    config : PipelineConfig
        The core.

    Members
    -------
    i : In(stream.Signature(result_layout(config)))
    register : Out(stream.Signature(request_layout(config)))
        Written register.
    offered : In(threads)
        Threads whose values are written.
    row : Out(BankRowSignature(config)).array(banks)
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.map = RegisterMap(config)
        super().__init__({
            "i": In(stream.Signature(result_layout(config))),
            "register": Out(stream.Signature(request_layout(config))),
            "offered": In(config.threads),
            "row": Out(BankRowSignature(config)).array(config.banks),
        })

    def build(self, platform):
        m = Module()
        result, register = self.i.payload, self.register
        m.d.comb += [
            register.valid.eq(self.i.valid & result.writes),
            register.payload.warp.eq(result.warp),
            register.payload.register.eq(result.rd),
            register.payload.mask.eq(result.mask),
            self.i.ready.eq(register.ready | (self.i.valid & ~result.writes)),
        ]
        if self.map.wide:
            for row in self.row:
                m.d.comb += [row.mask.eq(result.mask), row.data.eq(result.values)]
        else:
            self.distribute(m)
        return m

    def distribute(self, m: Module):
        """Route the offered values to word-wide banks."""
        config, result = self.config, self.i.payload
        words = Signal(data.ArrayLayout(32, config.banks))
        for offset in range(self.map.offsets):
            threads = range(offset, config.threads, config.banks)
            offered = Cat(self.offered[thread] for thread in threads)
            m.d.comb += words[offset].eq(select(offered, [result.values[t] for t in threads]))
        rotated = rotate_left(Value.cast(words), result.rd[: self.map.bank_width], 32)
        for bank, row in enumerate(self.row):
            m.d.comb += [row.mask.eq(1), row.data.eq(rotated.word_select(bank, 32))]
