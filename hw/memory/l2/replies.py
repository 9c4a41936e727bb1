"""Reply queue of an L2 slice: responses to writes."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue, ResponseSignature
from .layouts import L2SliceConfig, operation_layout
from .signatures import OutcomeSignature
from .writeback_replies import reply_layout

__all__ = ["REPLIES", "REPLIES_KEPT", "L2Replies"]

#: Entries of the queue, and those reserved for writes in progress.
REPLIES, REPLIES_KEPT = 8, 3


class L2Replies(SharedBlock):
    """Reply queue: replies to completed writes, then to those that DRAM completed.

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
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "outcome": In(OutcomeSignature()),
            "late": In(stream.Signature(reply_layout(config))),
            "o": Out(stream.Signature(reply_layout(config))),
            "has_room": Out(1),
        })

    def build(self, platform):
        m = Module()
        m.submodules.replies = replies = Queue(reply_layout(self.config), REPLIES)
        connect(m, replies.o, flipped(self.o))
        reply: Any = stream.Signature(reply_layout(self.config)).create()
        connect(m, reply, replies.i)
        is_prompt, late = self.outcome.replies, self.late
        m.d.comb += [
            self.has_room.eq(replies.level < REPLIES - REPLIES_KEPT),
            late.ready.eq(~is_prompt & self.has_room),
            reply.valid.eq(is_prompt | (late.valid & late.ready)),
            reply.payload.id.eq(Mux(is_prompt, self.lookup.payload.id, late.payload.id)),
            reply.payload.code.eq(Mux(is_prompt, 0, late.payload.code)),
        ]
        return m
