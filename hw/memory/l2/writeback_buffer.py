"""Write-back buffer of an L2 slice."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import one_hot
from ...lib.streams import ResponseSignature
from ..cache.cam import in_flight
from .layouts import L2SliceConfig, operation_layout, store_layout
from .line_sender import L2LineSender, address_layout
from .order_signatures import WritebackNumbersSignature
from .signatures import WritebackStateSignature, put_layout
from .write_gather import beat_layout
from .writeback_replies import L2WritebackReplies, reply_layout

__all__ = ["L2WritebackBuffer"]


class L2WritebackBuffer(SharedBlock):
    """Write-back buffer: sends lines to DRAM in order, one beat per cycle, and their replies.

    | cycle | a line                                                                     |
    |-------|----------------------------------------------------------------------------|
    | 0     | `entry`: from the next cycle on the line is `going`                        |
    | 1     | `store` of its bytes                                                       |
    | 4     | `address` and the first `beat` are offered                                 |

    The burst spans the first to the last beat of a line with a byte to write. Bursts take effect
    in order, as all have one id. A line is `going` until its response from DRAM.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
        The operation that is looked up.
    entry : In(ResponseSignature(put_layout(config)))
        A write-back begins; only with room.
    state : In(WritebackStateSignature(config))
    numbers : Out(WritebackNumbersSignature(config))
    store : In(ResponseSignature(store_layout(config)))
        Store the bytes of the entry put in the last cycle.
    address : Out(stream.Signature(address_layout(config)))
    beat : Out(stream.Signature(beat_layout(config)))
    response : In(stream.Signature(2))
        Responses of DRAM, in order.
    reply : Out(stream.Signature(reply_layout(config)))
    completed : Out(1)
        A write-back has reached DRAM.
    failed : Out(1)
        DRAM reported an error, and the write-back has no reply.
    busy : Out(1)
        A write-back is in flight.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "entry": In(ResponseSignature(put_layout(config))),
            "state": In(WritebackStateSignature(config)),
            "numbers": Out(WritebackNumbersSignature(config)),
            "store": In(ResponseSignature(store_layout(config))),
            "address": Out(stream.Signature(address_layout(config))),
            "beat": Out(stream.Signature(beat_layout(config))),
            "response": In(stream.Signature(2)),
            "reply": Out(stream.Signature(reply_layout(config))),
            "completed": Out(1),
            "failed": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, l2, state = self.config, self.config.l2, self.state
        m.submodules.sender = sender = L2LineSender(config)
        m.submodules.replies = replies = L2WritebackReplies(config)
        connect(m, flipped(self.entry), sender.entry, replies.entry)
        connect(m, flipped(self.store), sender.store)
        connect(m, sender.address, flipped(self.address))
        connect(m, sender.beat, flipped(self.beat))
        connect(m, flipped(self.response), replies.response)
        connect(m, replies.reply, flipped(self.reply))
        # One bit more than needed for an index: the difference is the number of entries.
        newest, oldest = Signal(config.back_width), Signal(config.back_width)
        level = Signal(config.back_width)
        m.d.comb += [
            sender.number.eq(newest[:-1]),
            replies.is_sent.eq(sender.sent != oldest),
            self.completed.eq(replies.completed),
            self.failed.eq(replies.failed),
            self.numbers.following.eq(newest),
            self.numbers.oldest.eq(oldest),
            state.number.eq(newest),
            state.room.eq((newest[:-1] != oldest[:-1]) | (newest[-1] == oldest[-1])),
            self.busy.eq(newest != oldest),
            level.eq(newest - oldest),
            state.is_light.eq(level < min(l2.early_write_backs, l2.write_backs)),
        ]
        m.d.sync += [
            newest.eq(newest + self.entry.valid),
            oldest.eq(oldest + self.completed),
        ]
        self.search(m, newest[:-1], oldest[:-1])
        return m

    def search(self, m: Module, newest: Value, oldest: Value):
        """Hold the keys of lines in flight, and compare them with the line looked up."""
        count, key_of, entry = self.config.l2.write_backs, self.config.key_of, self.entry.payload
        begins = self.entry.valid & entry.has_line
        new = Mux(begins, one_hot(m, newest, count, "new"), 0)
        old = Mux(self.completed, one_hot(m, oldest, count, "old"), 0)
        lookup_key = key_of(self.lookup.payload.line)
        _, going = in_flight(m, new, old, key_of(entry.line), lookup_key)
        m.d.comb += self.state.going.eq(going)
