"""Replies to the write-backs of an L2 slice."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue, ResponseSignature
from .layouts import L2SliceConfig, atomic_reply_layout
from .signatures import put_layout
from .write_gather import burst_layout

__all__ = ["L2WritebackReplies", "reply_layout"]


def reply_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the response to a write, with the result of an atomic."""
    word = {"word": atomic_reply_layout().members["word"]} if config.has_atomics else {}
    return data.StructLayout({"id": burst_layout(config).members["id"], "code": 2, **word})


class L2WritebackReplies(SharedBlock):
    """Write-back replies: completes write-backs in order, and replies to those that need it.

    An entry with a line is complete with its response from DRAM, another one when those before it
    are.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    entry : In(ResponseSignature(put_layout(config)))
        A write-back begins.
    is_sent : In(1)
        The oldest write-back has been sent.
    response : In(stream.Signature(2))
        Responses of DRAM, in order.
    reply : Out(stream.Signature(reply_layout(config)))
    completed : Out(1)
        The oldest write-back is complete.
    failed : Out(1)
        DRAM reported an error, and the write-back has no reply.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "entry": In(ResponseSignature(put_layout(config))),
            "is_sent": In(1),
            "response": In(stream.Signature(2)),
            "reply": Out(stream.Signature(reply_layout(config))),
            "completed": Out(1),
            "failed": Out(1),
        })

    def build(self, platform):
        m = Module()
        layout = data.StructLayout({"has_line": 1, "has_reply": 1, "id": self.config.id_width})
        m.submodules.pending = pending = Queue(layout, self.config.l2.write_backs)
        oldest: Any = stream.Signature(layout).flip().create()
        connect(m, pending.o, oldest)
        entry, ends = self.entry.payload, Signal()
        m.d.comb += [
            pending.i.valid.eq(self.entry.valid),
            *(pending.i.payload[name].eq(entry[name]) for name in layout.members),
            ends.eq(oldest.valid & self.is_sent & (~oldest.payload.has_line | self.response.valid)),
            self.reply.valid.eq(ends & oldest.payload.has_reply),
            self.reply.payload.id.eq(oldest.payload.id),
            self.reply.payload.code.eq(Mux(oldest.payload.has_line, self.response.payload, 0)),
            self.completed.eq(ends & (~oldest.payload.has_reply | self.reply.ready)),
            oldest.ready.eq(self.completed),
            self.response.ready.eq(self.completed & oldest.payload.has_line),
            self.failed.eq(
                self.completed
                & ~oldest.payload.has_reply
                & oldest.payload.has_line
                & self.response.payload[1]
            ),
        ]
        return m
