"""Response stage of the L1 data cache."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....emit.shared_block import SharedBlock
from ....lib.register_slices import SkidBuffer
from ....lib.sram import Sram
from ....lib.streams import ResponseSignature
from ..data_cache_layouts import DataCacheConfig, beat_answer_layout
from ..signatures import (
    ForwardSignature,
    ReplaySignature,
    WordSignature,
    data_read_layout,
    line_beat_layout,
    replay_layout,
)
from .signatures import hit_layout, waiter_layout

__all__ = ["ResponseStage"]


class ResponseStage(SharedBlock):
    """Response stage: answers a forwarded beat or a replay, else a hit.

    A hit is answered in its cycle, a forwarded beat or a replay in the next. A hit that stalls
    pauses replays, since they would replace the beat that it has read. An arriving beat pauses
    them too. Holds the contexts of waiting reads.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    hit : In(stream.Signature(hit_layout(config)))
    waiting : In(ResponseSignature(waiter_layout(config)))
        A read waits for its line from now on.
    replay : In(ReplaySignature(config))
    forward : In(ForwardSignature(config))
    beat : In(ResponseSignature(line_beat_layout(config)))
        The arriving beat.
    read : Out(ResponseSignature(data_read_layout(config)))
        Read of the data array for a replay.
    selection : Out(WordSignature(config))
        Beat of the read in the last cycle.
    answer : Out(stream.Signature(beat_answer_layout(config)))
    has_room : Out(1)
        An answer may begin in this cycle.
    busy : Out(1)
    """

    def __init__(self, config: DataCacheConfig):
        self.config = config
        super().__init__({
            "hit": In(stream.Signature(hit_layout(config))),
            "waiting": In(ResponseSignature(waiter_layout(config))),
            "replay": In(ReplaySignature(config)),
            "forward": In(ForwardSignature(config)),
            "beat": In(ResponseSignature(line_beat_layout(config))),
            "read": Out(ResponseSignature(data_read_layout(config))),
            "selection": Out(WordSignature(config)),
            "answer": Out(stream.Signature(beat_answer_layout(config))),
            "has_room": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        # `answer.ready` arrives late; the skid buffer keeps it off the path of the look-up.
        m.submodules.answers = answers = SkidBuffer(beat_answer_layout(self.config))
        connect(m, answers.o, flipped(self.answer))
        hit, replay, answer = self.hit, self.replay, Signal(beat_answer_layout(self.config))
        replayed = Signal()  # a forwarded beat or a replay is answered
        m.d.comb += [
            self.has_room.eq(answers.i.ready),
            hit.ready.eq(self.has_room & ~replayed),
            replay.pause.eq(~self.has_room | self.beat.valid | (hit.valid & replayed)),
            self.forward.allows.eq(self.has_room),
            self.read.valid.eq(replay.valid),
            self.read.payload.ways.eq(replay.payload.way),
            self.read.payload.set.eq(replay.payload.set),
            self.read.payload.place.eq(replay.payload.place),
            answers.i.valid.eq(hit.valid | replayed),
            answers.i.payload.eq(answer),
            self.busy.eq(replayed | self.answer.valid),
        ]
        self.answer_one(m, answer, replayed)
        return m

    def answer_one(self, m: Module, answer: data.View, replayed: Signal):
        """Drive the answer to the forwarded beat or the replay of the last cycle, else to a hit."""
        replay, forward, hit = self.replay, self.forward, self.hit.payload
        chosen = Signal(replay_layout(self.config), reset_less=True)
        forwarded = Signal(line_beat_layout(self.config), reset_less=True)
        is_forwarded = Signal(reset_less=True)
        context, word = self.hold_contexts(m), self.selection.word
        m.d.comb += [
            self.selection.way.eq(Mux(replayed & ~is_forwarded, chosen.way, hit.way)),
            answer.data.eq(Mux(replayed & is_forwarded, forwarded.data, word)),
            answer.id.eq(Mux(replayed, chosen.waiter, hit.id)),
            answer.context.eq(Mux(replayed, context, hit.context)),
            answer.error.eq(replayed & Mux(is_forwarded, forwarded.error, chosen.error)),
        ]
        with m.If(self.has_room):
            m.d.sync += [
                replayed.eq(forward.valid | replay.valid),
                is_forwarded.eq(forward.valid),
                forwarded.eq(self.beat.payload),
                chosen.eq(replay.payload),
            ]
            with m.If(forward.valid):
                m.d.sync += chosen.waiter.eq(forward.waiter)

    def hold_contexts(self, m: Module) -> Value:
        """Hold the contexts of waiting reads; return that of the one answered."""
        config, replay, forward = self.config, self.replay, self.forward
        m.submodules.contexts = contexts = Sram(
            depth=max(2, config.waiters), width=config.context_width
        )
        read: Any = ResponseSignature(contexts.shape.address_width).create()
        connect(m, read, contexts.read)
        m.d.comb += [
            contexts.write.mask.eq(self.waiting.valid),
            contexts.write.address.eq(self.waiting.payload.id),
            contexts.write.data.eq(self.waiting.payload.context),
            read.valid.eq(forward.valid | replay.valid),
            read.payload.eq(Mux(forward.valid, forward.waiter, replay.payload.waiter)),
        ]
        return contexts.data
