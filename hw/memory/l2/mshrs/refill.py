"""Refill buffer of an L2 slice."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from ....emit.shared_block import SharedBlock
from ....lib.one_hot import one_hot
from ....lib.sram import Sram
from ....lib.streams import ResponseSignature
from ..layouts import L2SliceConfig, access_layout
from .signatures import RefillBeginSignature, RefillEndSignature

__all__ = ["L2Refill", "arrival_layout"]


def arrival_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a beat from DRAM."""
    return data.StructLayout({
        "mshr": config.mshr_width,
        "data": config.data_width,
        "code": 2,
        "last": 1,
    })


class L2Refill(SharedBlock):
    """Refill buffer: collects beats of several lines, interleaved in any order, into lines.

    Read latency 1 cycle, for beats and for their responses.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    begin : In(RefillBeginSignature(config))
    arrival : In(ResponseSignature(arrival_layout(config)))
    end : Out(RefillEndSignature(config))
    access : In(ResponseSignature(access_layout(config)))
        If it needs data from DRAM, that of its MSHR is at `line` in the next cycle.
    line : Out(8 * config.l2.line_bytes)
    pick : In(ResponseSignature(config.mshr_width))
        Responses for this MSHR are at `codes` in the next cycle.
    codes : Out(2 * config.beats)
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "begin": In(RefillBeginSignature(config)),
            "arrival": In(ResponseSignature(arrival_layout(config))),
            "end": Out(RefillEndSignature(config)),
            "access": In(ResponseSignature(access_layout(config))),
            "line": Out(8 * config.l2.line_bytes),
            "pick": In(ResponseSignature(config.mshr_width)),
            "codes": Out(2 * config.beats),
        })

    def build(self, platform):
        m = Module()
        config, arrival, access = self.config, self.arrival.payload, self.access.payload
        mshrs, beats = config.l2.mshrs, config.beats
        m.submodules.data = words = Sram(
            depth=mshrs, width=8 * config.l2.line_bytes, granularity=config.data_width
        )
        m.submodules.codes = codes = Sram(depth=mshrs, width=2 * beats, granularity=2)
        read: Any = ResponseSignature(config.mshr_width).create()
        connect(m, read, words.read)
        connect(m, flipped(self.pick), codes.read)
        whose = Mux(self.arrival.valid, one_hot(m, arrival.mshr, mshrs, "whose"), 0)
        beat = one_hot(m, self.place(m, whose), beats, "beat")
        m.d.comb += [
            self.end.ends.eq(Mux(arrival.last, whose, 0)),
            self.end.fails.eq(Mux(arrival.code[1], whose, 0)),
            words.write.data.eq(arrival.data.replicate(beats)),
            codes.write.data.eq(arrival.code.replicate(beats)),
            read.valid.eq(self.access.valid & (access.fills | access.from_dram)),
            read.payload.eq(access.mshr),
            self.line.eq(words.data),
            self.codes.eq(codes.data),
        ]
        for memory in (words, codes):
            m.d.comb += [
                memory.write.mask.eq(Mux(self.arrival.valid, beat, 0)),
                memory.write.address.eq(arrival.mshr),
            ]
        return m

    def place(self, m: Module, whose: Value) -> Signal:
        """Return the number of the arriving beat in its line, from a counter for each MSHR."""
        width, begin = self.config.beat_width, self.begin.mshrs
        bits = [Signal.like(begin, name=f"place_{n}", reset_less=True) for n in range(width)]
        place, following = Signal(width), Signal(width)
        m.d.comb += [
            place.eq(Cat((bit & whose).any() for bit in bits)),
            following.eq(place + 1),
        ]
        for n, bit in enumerate(bits):
            m.d.sync += bit.eq(
                (bit & ~whose & ~begin)
                | Mux(following[n], whose, 0)
                | Mux(self.begin.first[n], begin, 0)
            )
        return place
