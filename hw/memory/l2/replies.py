"""Reply queue of an L2 slice: responses to writes."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.axi import RESPONSE_SLAVE_ERROR
from ...lib.streams import Queue, ResponseSignature
from .layouts import L2SliceConfig, atomic_reply_layout, operation_layout
from .signatures import OutcomeSignature
from .writeback_replies import reply_layout

__all__ = ["REPLIES", "REPLIES_KEPT", "L2Replies"]

#: Entries of the queue, and those reserved for writes in progress.
REPLIES, REPLIES_KEPT = 8, 3


class L2Replies(SharedBlock):
    """Reply queue: replies to completed writes, then to those that DRAM completed.

    With atomics a reply is queued 1 cycle after the look-up, when the result of an atomic is known.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
    outcome : In(OutcomeSignature())
    late : In(stream.Signature(reply_layout(config)))
        Reply to a write that DRAM completed.
    o : Out(stream.Signature(reply_layout(config)))
    has_room : Out(1)
        There is room for one more write, besides those in progress.
    atomic : In(atomic_reply_layout())
        With atomics: result of the write of the look-up before.
    waits : Out(1)
        With atomics: a reply is not queued yet.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        atomics = {"atomic": In(atomic_reply_layout()), "waits": Out(1)}
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "outcome": In(OutcomeSignature()),
            "late": In(stream.Signature(reply_layout(config))),
            "o": Out(stream.Signature(reply_layout(config))),
            "has_room": Out(1),
            **(atomics if config.has_atomics else {}),
        })

    def build(self, platform):
        m = Module()
        m.submodules.replies = replies = Queue(reply_layout(self.config), REPLIES)
        connect(m, replies.o, flipped(self.o))
        reply: Any = stream.Signature(reply_layout(self.config)).create()
        connect(m, reply, replies.i)
        is_prompt, identity, code = self.outcome.replies, self.lookup.payload.id, 0
        late, reserved = self.late, REPLIES_KEPT
        if self.config.has_atomics:
            prompt_id = Signal.like(identity, reset_less=True)
            m.d.sync += [self.waits.eq(is_prompt), prompt_id.eq(identity)]
            is_prompt, identity, reserved = self.waits, prompt_id, REPLIES_KEPT + 1
            code = Mux(self.atomic.fails, RESPONSE_SLAVE_ERROR, 0)
            m.d.comb += reply.payload.word.eq(self.atomic.word)
        m.d.comb += [
            self.has_room.eq(replies.level < REPLIES - reserved),
            late.ready.eq(~is_prompt & self.has_room),
            reply.valid.eq(is_prompt | (late.valid & late.ready)),
            reply.payload.id.eq(Mux(is_prompt, identity, late.payload.id)),
            reply.payload.code.eq(Mux(is_prompt, code, late.payload.code)),
        ]
        return m
