"""Sender of the lines that an L2 slice writes back to DRAM."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, number_of
from ...lib.sram import Sram
from ...lib.streams import Queue, ResponseSignature
from .layouts import L2SliceConfig, store_layout
from .signatures import put_layout
from .write_gather import beat_layout

__all__ = ["L2LineSender", "address_layout"]


def address_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a write burst: line, first beat, and beats - 1."""
    return data.StructLayout({
        "line": config.l2.line_width,
        "first": config.beat_width,
        "more": config.beat_width,
    })


def span(present: Value) -> Value:
    """Return all bits from the lowest to the highest set bit; the lowest if none is set."""
    bits = len(present)
    return Cat(
        present[: n + 1].any() & present[n:].any() | (~present.any() if n == 0 else 0)
        for n in range(bits)
    )


class L2LineSender(SharedBlock):
    """Line sender: holds the lines of write-backs, and sends one after the other in bursts.

    One beat per cycle. The first is offered 3 cycles after its line was stored. A burst spans the
    first to the last beat with a byte to write. An entry without a line is passed over.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    entry : In(ResponseSignature(put_layout(config)))
        A write-back begins; its bytes are stored in the next cycle.
    number : In(exact_log2(config.l2.write_backs))
        Its number.
    store : In(ResponseSignature(store_layout(config)))
    address : Out(stream.Signature(address_layout(config)))
    beat : Out(stream.Signature(beat_layout(config)))
    sent : Out(config.back_width)
        Number of the next write-back to be sent.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "entry": In(ResponseSignature(put_layout(config))),
            "number": In(exact_log2(config.l2.write_backs)),
            "store": In(ResponseSignature(store_layout(config))),
            "address": Out(stream.Signature(address_layout(config))),
            "beat": Out(stream.Signature(beat_layout(config))),
            "sent": Out(config.back_width),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.addresses = addresses = Queue(address_layout(config), 4)
        m.submodules.beats = beats = Queue(beat_layout(config), 4)
        address: Any = stream.Signature(address_layout(config)).create()
        sent_beat: Any = stream.Signature(beat_layout(config)).create()
        connect(m, address, addresses.i)
        connect(m, sent_beat, beats.i)
        connect(m, addresses.o, flipped(self.address))
        connect(m, beats.o, flipped(self.beat))
        stored, holds, begun, loads = Signal(config.back_width), Signal(), Signal(), Signal()
        line, words, strobes = self.hold_lines(m, loads)
        left, rest = Signal(config.beats), Signal(config.beats, reset_less=True)
        beat, moves, last = Signal(config.beats), Signal(), Signal()
        present = Cat(strobes.word_select(n, config.beat_bytes).any() for n in range(config.beats))
        m.d.comb += [
            left.eq(Mux(begun, rest, span(present))),
            beat.eq(lowest(left)),
            last.eq((left == beat) | ~line.is_valid),
            moves.eq(holds & (~line.is_valid | (sent_beat.ready & (begun | address.ready)))),
            loads.eq((~holds | (moves & last)) & (self.sent != stored)),
            address.valid.eq(moves & line.is_valid & ~begun),
            address.payload.line.eq(line.number),
            address.payload.first.eq(number_of(beat)),
            address.payload.more.eq(sum((left[n] for n in range(1, len(left))), left[0]) - 1),
            sent_beat.valid.eq(moves & line.is_valid),
            sent_beat.payload.data.eq(words.word_select(number_of(beat), config.data_width)),
            sent_beat.payload.strobes.eq(strobes.word_select(number_of(beat), config.beat_bytes)),
            sent_beat.payload.last.eq(last),
        ]
        m.d.sync += stored.eq(stored + self.store.valid)
        with m.If(moves):
            m.d.sync += [rest.eq(left & ~beat), begun.eq(~last), holds.eq(~last)]
        with m.If(loads):
            m.d.sync += [self.sent.eq(self.sent + 1), holds.eq(1)]
        return m

    def hold_lines(self, m: Module, loads: Signal) -> tuple[data.View, Value, Value]:
        """Hold the lines; return the number, bytes and strobes of the one loaded last."""
        config, count = self.config, self.config.l2.write_backs
        layout = data.StructLayout({"number": config.l2.line_width, "is_valid": 1})
        m.submodules.words = words = Sram(depth=count, width=8 * config.l2.line_bytes)
        m.submodules.masks = masks = Sram(depth=count, width=config.l2.line_bytes)
        m.submodules.lines = lines = Sram(depth=count, width=layout.size)
        read: Any = ResponseSignature(len(self.number)).create()
        connect(m, read, words.read, masks.read, lines.read)
        entry, store = self.entry.payload, self.store.payload
        m.d.comb += [
            read.valid.eq(loads),
            read.payload.eq(self.sent[:-1]),
            lines.write.mask.eq(self.entry.valid),
            lines.write.address.eq(self.number),
            lines.write.data.eq(Cat(entry.line, entry.has_line)),
        ]
        for memory, value in ((words, store.data), (masks, store.strobes)):
            m.d.comb += [
                memory.write.mask.eq(self.store.valid),
                memory.write.address.eq(store.number),
                memory.write.data.eq(value),
            ]
        return data.View(layout, lines.data), words.data, masks.data
