"""Write-back buffer of an L2 slice."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, number_of, one_hot
from ...lib.sram import Sram
from ...lib.streams import Queue, ResponseSignature
from ..cache.cam import in_flight
from .layouts import L2SliceConfig, operation_layout, store_layout
from .order_signatures import WritebackNumbersSignature
from .signatures import WritebackSignature
from .write_gather import beat_layout, burst_layout

__all__ = ["L2WritebackBuffer", "address_layout", "reply_layout"]


def address_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a write burst: line, first beat, and beats - 1."""
    return data.StructLayout({
        "line": config.l2.line_width,
        "first": config.beat_width,
        "more": config.beat_width,
    })


def reply_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the response to a write."""
    return data.StructLayout({"id": burst_layout(config).members["id"], "code": 2})


def span(present: Value) -> Value:
    """Return all bits from the lowest to the highest set bit; the lowest if none is set."""
    bits = len(present)
    return Cat(
        present[: n + 1].any() & present[n:].any() | (~present.any() if n == 0 else 0)
        for n in range(bits)
    )


class L2WritebackBuffer(SharedBlock):
    """Write-back buffer: sends lines to DRAM in order, one beat per cycle, and their replies.

    | cycle | a line                                                                     |
    |-------|----------------------------------------------------------------------------|
    | 0     | `put`: from the next cycle on the line is `going`                          |
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
    stage : In(WritebackSignature(config))
        Entry of a write-back.
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
            "stage": In(WritebackSignature(config)),
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
        # One bit more than needed for an index: the difference is the number of entries.
        newest, stored, sent, oldest = (
            Signal(self.config.back_width, name=name)
            for name in ("newest", "stored", "sent", "oldest")
        )
        level, l2 = Signal(self.config.back_width), self.config.l2
        m.d.comb += [
            self.stage.number.eq(newest),
            self.numbers.following.eq(newest),
            self.numbers.oldest.eq(oldest),
            self.stage.room.eq((newest[:-1] != oldest[:-1]) | (newest[-1] == oldest[-1])),
            self.busy.eq(newest != oldest),
            level.eq(newest - oldest),
            self.stage.is_light.eq(level < min(l2.early_write_backs, l2.write_backs)),
        ]
        m.d.sync += [
            newest.eq(newest + self.stage.put),
            stored.eq(stored + self.store.valid),
            oldest.eq(oldest + self.completed),
        ]
        self.remember(m, newest[:-1], oldest[:-1])
        self.send(m, newest[:-1], stored, sent)
        self.retire(m, sent != oldest)
        return m

    def remember(self, m: Module, newest: Value, oldest: Value):
        """Hold the keys of lines in flight, and compare them with `line`."""
        count, key_of = self.config.l2.write_backs, self.config.key_of
        puts = self.stage.put & self.stage.what.has_line
        new = Mux(puts, one_hot(m, newest, count, "new"), 0)
        old = Mux(self.completed, one_hot(m, oldest, count, "old"), 0)
        _, going = in_flight(
            m, new, old, key_of(self.stage.what.line), key_of(self.lookup.payload.line)
        )
        m.d.comb += self.stage.going.eq(going)

    def send(self, m: Module, newest: Value, stored: Signal, sent: Signal):
        """Send stored lines, one after the other."""
        config, count = self.config, self.config.l2.write_backs
        m.submodules.words = words = Sram(depth=count, width=8 * config.l2.line_bytes)
        m.submodules.masks = masks = Sram(depth=count, width=config.l2.line_bytes)
        m.submodules.lines = lines = Sram(depth=count, width=config.l2.line_width + 1)
        m.submodules.addresses = addresses = Queue(address_layout(config), 4)
        m.submodules.beats = beats = Queue(beat_layout(config), 4)
        connect(m, addresses.o, flipped(self.address))
        connect(m, beats.o, flipped(self.beat))
        holds, begun, has_line = Signal(), Signal(), lines.read_data[-1]
        left, rest = Signal(config.beats), Signal(config.beats, reset_less=True)
        beat, moves, loads, last = Signal(config.beats), Signal(), Signal(), Signal()
        strobes, store = masks.read_data, self.store.payload
        present = Cat(strobes.word_select(n, config.beat_bytes).any() for n in range(config.beats))
        m.d.comb += [
            left.eq(Mux(begun, rest, span(present))),
            beat.eq(lowest(left)),
            last.eq((left == beat) | ~has_line),
            moves.eq(holds & (~has_line | (beats.i.ready & (begun | addresses.i.ready)))),
            loads.eq((~holds | (moves & last)) & (sent != stored)),
            addresses.i.valid.eq(moves & has_line & ~begun),
            addresses.i.payload.line.eq(lines.read_data[:-1]),
            addresses.i.payload.first.eq(number_of(beat)),
            addresses.i.payload.more.eq(sum((left[n] for n in range(1, len(left))), left[0]) - 1),
            beats.i.valid.eq(moves & has_line),
            beats.i.payload.data.eq(
                words.read_data.word_select(number_of(beat), config.data_width)
            ),
            beats.i.payload.strobes.eq(strobes.word_select(number_of(beat), config.beat_bytes)),
            beats.i.payload.last.eq(last),
            lines.write_mask.eq(self.stage.put),
            lines.write_address.eq(newest),
            lines.write_data.eq(Cat(self.stage.what.line, self.stage.what.has_line)),
        ]
        for memory, value in ((words, store.data), (masks, store.strobes)):
            m.d.comb += [
                memory.write_mask.eq(self.store.valid),
                memory.write_address.eq(store.number),
                memory.write_data.eq(value),
            ]
        for memory in (words, masks, lines):
            m.d.comb += [memory.read_enable.eq(loads), memory.read_address.eq(sent[:-1])]
        with m.If(moves):
            m.d.sync += [rest.eq(left & ~beat), begun.eq(~last), holds.eq(~last)]
        with m.If(loads):
            m.d.sync += [sent.eq(sent + 1), holds.eq(1)]

    def retire(self, m: Module, is_sent: Value):
        """Send replies in the order of the write-backs."""
        layout = data.StructLayout({"has_line": 1, "has_reply": 1, "id": self.config.id_width})
        m.submodules.replies = replies = Queue(layout, self.config.l2.write_backs)
        what, reply, ends = replies.o.payload, self.reply.payload, Signal()
        m.d.comb += [
            replies.i.valid.eq(self.stage.put),
            *(replies.i.payload[name].eq(self.stage.what[name]) for name in layout.members),
            ends.eq(replies.o.valid & is_sent & (~what.has_line | self.response.valid)),
            self.reply.valid.eq(ends & what.has_reply),
            reply.id.eq(what.id),
            reply.code.eq(Mux(what.has_line, self.response.payload, 0)),
            self.completed.eq(ends & (~what.has_reply | self.reply.ready)),
            replies.o.ready.eq(self.completed),
            self.response.ready.eq(self.completed & what.has_line),
            self.failed.eq(
                self.completed & ~what.has_reply & what.has_line & self.response.payload[1]
            ),
        ]
