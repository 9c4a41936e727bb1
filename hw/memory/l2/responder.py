"""Response serialiser of an L2 slice: lines to beats."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, select
from ...lib.streams import Queue, ResponseSignature
from .layouts import L2SliceConfig, response_layout

__all__ = ["RESPONSES", "L2Responder", "answer_layout"]

#: Lines queued to be sent.
RESPONSES = 8


def answer_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a beat of a read response."""
    return data.StructLayout({
        "id": config.id_width,
        "data": config.data_width,
        "code": 2,
        "last": 1,
    })


class L2Responder(SharedBlock):
    """Response serialiser: sends the requested beats of a line, one per cycle.

    A line bypasses the empty queue, so its first beat is offered in the cycle of `i`. Its
    remaining beats are queued.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    i : In(ResponseSignature(response_layout(config)))
    o : Out(stream.Signature(answer_layout(config)))
    has_room : Out(1)
        There is room for one more line, besides those of the operations in progress.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "i": In(ResponseSignature(response_layout(config))),
            "o": Out(stream.Signature(answer_layout(config))),
            "has_room": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, beats = self.config, self.config.beats
        m.submodules.lines = lines = Queue(response_layout(config), RESPONSES)
        queued: Any = stream.Signature(response_layout(config)).flip().create()
        connect(m, lines.o, queued)
        line, answer = Signal(response_layout(config)), self.o.payload
        sent, left, beat = Signal(beats), Signal(beats), Signal(beats)
        goes, rest = Signal(beats), lines.i.payload
        width = config.data_width
        m.d.comb += [
            # Each operation in progress may need a response.
            self.has_room.eq(lines.level < RESPONSES - 2),
            self.o.valid.eq(queued.valid | self.i.valid),
            left.eq(line.beats & ~sent),
            beat.eq(lowest(left)),
            answer.id.eq(line.id),
            answer.data.eq(select(beat, [line.data.word_select(n, width) for n in range(beats)])),
            answer.code.eq(select(beat, [line.codes.word_select(n, 2) for n in range(beats)])),
            answer.last.eq(left == beat),
            goes.eq(Mux(self.o.ready, beat, 0)),
            queued.ready.eq(self.o.ready & answer.last),
            rest.eq(self.i.payload),
            rest.beats.eq(self.i.payload.beats & ~Mux(queued.valid, 0, goes)),
            lines.i.valid.eq(self.i.valid & rest.beats.any()),
        ]
        with m.If(queued.valid):
            m.d.comb += line.eq(queued.payload)
        with m.Else():
            m.d.comb += line.eq(self.i.payload)
        with m.If(queued.valid & self.o.ready):
            m.d.sync += sent.eq(Mux(answer.last, 0, sent | beat))
        return m
