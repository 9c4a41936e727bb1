"""Proofs of the write combiner: no write is lost or duplicated, and bursts keep their order."""

from dataclasses import replace

from amaranth import *
from amaranth.utils import exact_log2

from spica.hw.lib.one_hot import lowest, number_of
from spica.hw.lib.write_combiner import WriteCombiner, WriteCombinerConfig

from .proof import Proof
from .properties import Assert, Properties

__all__ = ["PROOFS"]

SMALL = WriteCombinerConfig(lines=2, line_beats=2, beat_bytes=1)
#: Width of counters.
COUNT = 4


class Writes(Properties):
    """Each burst and its beats equal the writes to its line up to the offer of the burst.

    One arbitrary line is marked when it is opened. Bursts, and lines with outstanding beats, ahead
    of it are counted, so the time of its own burst and beats is known. Each write must join the
    open line of its address, or open a new one.
    """

    def __init__(self, config: WriteCombinerConfig):
        self.config = config
        super().__init__(
            free={
                "valid": 1,
                # Few address bits are not constant 0.
                "beat": 3,
                "data": 8,
                "strobe": 1,
                "takes_burst": 1,
                "takes_beat": 1,
                "mark": 1,
            }
        )

    def state(self, m):
        m.submodules.combiner = self.dut = dut = WriteCombiner(self.config)
        write = dut.i.payload
        m.d.comb += [
            dut.i.valid.eq(self.valid),
            write.beat.eq(self.beat),
            write.data.eq(self.data),
            write.strobes.eq(self.strobe),
            dut.burst.ready.eq(self.takes_burst),
            dut.beat.ready.eq(self.takes_beat),
        ]
        self.place = self.beat[: self.config.place_width]
        self.address = self.beat[self.config.place_width :]
        self.accepted, self.begins = Signal(), Signal()
        self.requested, self.arrives, self.ends = Signal(), Signal(), Signal()
        m.d.comb += [
            self.accepted.eq(dut.i.valid & dut.i.ready),
            self.begins.eq(self.accepted & ~dut.joins),
            self.requested.eq(dut.burst.valid & dut.burst.ready),
        ]
        self.stays(m)
        self.count(m)
        self.follow(m)

    def stays(self, m: Module):
        """Assert that an offer is held until it is taken; detect new beats."""
        dut, held = self.dut, {}
        for name in ("burst", "beat"):
            port = getattr(dut, name)
            held[name] = Signal(name=f"held_{name}")
            before = Signal.like(port.payload, name=f"before_{name}")
            m.d.sync += [held[name].eq(port.valid & ~port.ready), before.eq(port.payload)]
            m.d.comb += Assert(~held[name] | (port.valid & (port.payload == before)))
        m.d.comb += [
            self.arrives.eq(dut.beat.valid & ~held["beat"]),
            self.ends.eq(self.arrives & dut.beat.payload.last),
        ]

    def count(self, m: Module):
        """Count outstanding bursts and lines; assert timely offers, refusals only without room."""
        dut, lines, patience = self.dut, self.config.lines, self.config.patience
        self.bursts, self.lasts = bursts, lasts = Signal(COUNT), Signal(COUNT)
        waited, lags, moved = Signal(range(2 * patience + 4)), Signal(), Signal()
        held, offered = Signal(COUNT), Signal(COUNT)  # lines with outstanding beats
        m.d.comb += [
            held.eq(lasts - self.ends),
            # Lines that were not offered in the last cycle have no beats yet.
            offered.eq(held - (bursts - dut.burst.valid)),
            Assert(~dut.burst.valid | (bursts != 0)),
            Assert(~self.arrives | (lasts != 0)),
            Assert(~lags | dut.beat.valid),
            Assert((bursts == 0) | dut.burst.valid | (waited < 2 * patience)),
            Assert(dut.i.ready == (dut.joins | (Mux(bursts > held, bursts, held) < lines))),
            Assert(dut.busy == ((bursts != 0) | (held != 0) | dut.beat.valid)),
        ]
        m.d.comb += moved.eq(~dut.beat.valid | dut.beat.ready)
        m.d.sync += [
            bursts.eq(bursts + self.begins - self.requested),
            lasts.eq(held + self.begins),
            lags.eq(moved & (held != 0) & (offered != 0) & (held >= offered)),
        ]
        with m.If((bursts == 0) | dut.burst.valid):
            m.d.sync += waited.eq(0)
        with m.Else():
            m.d.sync += waited.eq(waited + 1)

    def follow(self, m: Module):
        """Follow the marked line."""
        config, dut = self.config, self.dut
        beats = config.line_beats
        marked, was_offered, was_requested = Signal(), Signal(), Signal()
        number, address = Signal(exact_log2(config.lines)), Signal.like(self.address)
        before_burst, before_last = Signal(COUNT), Signal(COUNT)
        written, wrote, at = Signal(beats), Signal(beats), Signal(config.place_width)
        data = [Signal(8, name=f"data_{n}") for n in range(beats)]
        first, last = Signal(config.place_width), Signal(config.place_width)
        is_own, offers, arrives, ends = Signal(), Signal(), Signal(), Signal()
        is_open = marked & ~was_offered & ~offers
        same = self.address == address
        burst, beat = dut.burst.payload, dut.beat.payload
        m.d.comb += [
            first.eq(number_of(lowest(written))),
            last.eq(beats - 1 - number_of(lowest(written[::-1]))),
            offers.eq(marked & dut.burst.valid & ~was_requested & (before_burst == 0)),
            arrives.eq(marked & self.arrives & (before_last == 0)),
            ends.eq(arrives & (at == last)),
            is_own.eq(dut.joins & (dut.line == number)),
            # A write joins the open line of its address, and nothing else.
            Assert(~(self.valid & is_open) | (is_own == same)),
            Assert(~(self.valid & marked & ~is_open & is_own)),
            Assert(~(self.begins & marked & ~(was_requested & ends)) | (dut.line != number)),
            Assert(~offers | (burst.beat == Cat(first, address))),
            Assert(~offers | (burst.further == last - first)),
            # Beats follow the offered burst, from the first to the last one written.
            Assert(~arrives | was_offered),
            Assert(~arrives | (beat.last == (at == last))),
            Assert(~arrives | (beat.strobes == (written & wrote).bit_select(at, 1))),
            Assert(~(arrives & beat.strobes[0]) | (beat.data == Array(data)[at])),
        ]
        with m.If(marked):
            with m.If(self.accepted & is_own):
                m.d.sync += written.eq(written | 1 << self.place)
                with m.If(self.place < at):
                    m.d.sync += at.eq(self.place)
                with m.If(self.strobe):
                    m.d.sync += wrote.eq(wrote | 1 << self.place)
                    for place, register in enumerate(data):
                        with m.If(self.place == place):
                            m.d.sync += register.eq(self.data)
            m.d.sync += [
                before_burst.eq(before_burst - (self.requested & (before_burst != 0))),
                before_last.eq(before_last - (self.ends & (before_last != 0))),
                was_offered.eq(was_offered | offers),
                was_requested.eq(was_requested | (offers & self.requested)),
            ]
            with m.If(arrives):
                m.d.sync += at.eq(at + 1)
            with m.If(ends):
                m.d.sync += marked.eq(0)
        with m.Elif(self.begins & self.mark):
            m.d.sync += [
                marked.eq(1),
                was_offered.eq(0),
                was_requested.eq(0),
                number.eq(dut.line),
                address.eq(self.address),
                before_burst.eq(self.bursts - self.requested),
                before_last.eq(self.lasts - self.ends),
                written.eq(1 << self.place),
                wrote.eq(self.strobe << self.place),
                at.eq(self.place),
                *(register.eq(self.data) for register in data),
            ]


PROOFS = (
    Proof(
        name="write_combiner",
        says="each burst and its beats equal the writes to a line up to its offer; each is sent "
        "once, in the order in which lines were opened",
        size="2 lines of 2 beats of a byte, 4 addresses, no patience",
        kind=Writes,
        arguments=(SMALL,),
        depth=11,
        induction=False,
    ),
    Proof(
        name="write_combiner_patient",
        says="the same; no line waits for further writes longer than twice the patience",
        size="4 lines of 2 beats of a byte, 4 addresses, patience of 2",
        kind=Writes,
        arguments=(replace(SMALL, lines=4, patience=2),),
        depth=9,
        induction=False,
    ),
)
