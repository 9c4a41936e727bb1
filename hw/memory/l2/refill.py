"""Refill buffer of an L2 slice."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import one_hot
from ...lib.sram import Sram
from .layouts import L2SliceConfig

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
    begin : In(config.l2.mshrs)
        The line of this MSHR will be read, from beat `first` on.
    first : In(config.beat_width)
    arrival_valid : In(1)
    arrival : In(arrival_layout(config))
    ends, fails : Out(config.l2.mshrs)
        The last beat for this MSHR arrives; a beat with an error does.
    read : In(1)
        Data for MSHR `read_mshr` is at `line` in the next cycle.
    read_mshr : In(config.mshr_width)
    line : Out(8 * config.l2.line_bytes)
    read_codes : In(1)
        Responses for MSHR `codes_mshr` are at `codes` in the next cycle.
    codes_mshr : In(config.mshr_width)
    codes : Out(2 * config.beats)
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "begin": In(config.l2.mshrs),
            "first": In(config.beat_width),
            "arrival_valid": In(1),
            "arrival": In(arrival_layout(config)),
            "ends": Out(config.l2.mshrs),
            "fails": Out(config.l2.mshrs),
            "read": In(1),
            "read_mshr": In(config.mshr_width),
            "line": Out(8 * config.l2.line_bytes),
            "read_codes": In(1),
            "codes_mshr": In(config.mshr_width),
            "codes": Out(2 * config.beats),
        })

    def build(self, platform):
        m = Module()
        config, arrival = self.config, self.arrival
        mshrs, beats = config.l2.mshrs, config.beats
        m.submodules.data = words = Sram(
            depth=mshrs, width=8 * config.l2.line_bytes, granularity=config.data_width
        )
        m.submodules.codes = codes = Sram(depth=mshrs, width=2 * beats, granularity=2)
        whose = Mux(self.arrival_valid, one_hot(m, arrival.mshr, mshrs, "whose"), 0)
        beat = one_hot(m, self.place(m, whose), beats, "beat")
        m.d.comb += [
            self.ends.eq(Mux(arrival.last, whose, 0)),
            self.fails.eq(Mux(arrival.code[1], whose, 0)),
            words.write_data.eq(arrival.data.replicate(beats)),
            codes.write_data.eq(arrival.code.replicate(beats)),
            words.read_enable.eq(self.read),
            words.read_address.eq(self.read_mshr),
            self.line.eq(words.read_data),
            codes.read_enable.eq(self.read_codes),
            codes.read_address.eq(self.codes_mshr),
            self.codes.eq(codes.read_data),
        ]
        for memory in (words, codes):
            m.d.comb += [
                memory.write_mask.eq(Mux(self.arrival_valid, beat, 0)),
                memory.write_address.eq(arrival.mshr),
            ]
        return m

    def place(self, m: Module, whose: Value) -> Signal:
        """Return the number of the arriving beat in its line, from a counter for each MSHR."""
        width = self.config.beat_width
        bits = [Signal.like(self.begin, name=f"place_{n}", reset_less=True) for n in range(width)]
        place, following = Signal(width), Signal(width)
        m.d.comb += [
            place.eq(Cat((bit & whose).any() for bit in bits)),
            following.eq(place + 1),
        ]
        for n, bit in enumerate(bits):
            m.d.sync += bit.eq(
                (bit & ~whose & ~self.begin)
                | Mux(following[n], whose, 0)
                | Mux(self.first[n], self.begin, 0)
            )
        return place
