"""Lines and writes on their way from a slice of the L2 cache to DRAM."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..emit import SharedBlock
from ..sram import Sram
from ..streams import Queue
from .arbiter import lowest, one_hot, select
from .l2_layouts import L2SliceConfig
from .l2_write_gather import beat_layout, burst_layout
from .miss_table import number_of

__all__ = ["L2WriteBacks", "address_layout", "put_layout", "reply_layout"]


def put_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what goes to DRAM: bytes of a ``line`` if it ``has_line``; ``owes`` ``id`` a reply.

    Without a line it only keeps the replies to an id in their order.
    """
    return data.StructLayout({
        "has_line": 1,
        "owes": 1,
        "line": config.l2.line_width,
        "id": config.id_width,
    })


def address_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of a write burst: where it begins, and beats - 1."""
    return data.StructLayout({
        "line": config.l2.line_width,
        "first": config.beat_width,
        "more": config.beat_width,
    })


def reply_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of the response to a write."""
    return data.StructLayout({"id": burst_layout(config).members["id"], "code": 2})


def span(present: Value) -> Value:
    """Return all bits from the lowest to the highest that is set; the lowest if none is."""
    bits = len(present)
    return Cat(
        present[: n + 1].any() & present[n:].any() | (~present.any() if n == 0 else 0)
        for n in range(bits)
    )


class L2WriteBacks(SharedBlock):
    """Send lines to DRAM in the order in which they are put, a beat per cycle, and their replies.

    | cycle | a line                                                                     |
    |-------|----------------------------------------------------------------------------|
    | 0     | `put`: from the next cycle on it is known to be `going`                    |
    | 2     | `store` of its bytes                                                       |
    | 5     | `address` and the first `beat` are offered                                 |

    Of a line the beats from the first to the last with a byte to write are sent. What is sent
    takes effect in that order, as all have one id; it is going until DRAM says that it has it.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    line, id : In
        What is looked up.
    going : Out(1)
        Bytes of that line are on their way.
    owes : Out(1)
        That id is owed a reply.
    room : Out(1)
    put : In(1)
        This cycle, only with room:
    what : In(put_layout(config))
    number : Out(exact_log2(config.l2.write_backs))
        Its number.
    store : In(1)
        Of what was put 2 cycles ago, these bytes:
    store_number, store_data, store_strobes : In
    address : Out(stream.Signature(address_layout(config)))
    beat : Out(stream.Signature(beat_layout(config)))
    response : In(stream.Signature(2))
        Of DRAM, in their order.
    reply : Out(stream.Signature(reply_layout(config)))
    came : Out(1)
        Something has come to DRAM.
    failed : Out(1)
        It was refused there, and nobody is owed a reply.
    busy : Out(1)
        Something is on its way.
    """

    line: Signal
    id: Signal
    going: Signal
    owes: Signal
    room: Signal
    put: Signal
    what: data.View
    number: Signal
    store: Signal
    store_number: Signal
    store_data: Signal
    store_strobes: Signal
    address: stream.Interface
    beat: stream.Interface
    response: stream.Interface
    reply: stream.Interface
    came: Signal
    failed: Signal
    busy: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        width = exact_log2(config.l2.write_backs)
        super().__init__({
            "line": In(config.l2.line_width),
            "id": In(config.id_width),
            "going": Out(1),
            "owes": Out(1),
            "room": Out(1),
            "put": In(1),
            "what": In(put_layout(config)),
            "number": Out(width),
            "store": In(1),
            "store_number": In(width),
            "store_data": In(8 * config.l2.line_bytes),
            "store_strobes": In(config.l2.line_bytes),
            "address": Out(stream.Signature(address_layout(config))),
            "beat": Out(stream.Signature(beat_layout(config))),
            "response": In(stream.Signature(2)),
            "reply": Out(stream.Signature(reply_layout(config))),
            "came": Out(1),
            "failed": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = self.config.l2.write_backs
        # One bit more than numbers them: their difference is how many there are.
        newest, stored = Signal(exact_log2(count) + 1), Signal(exact_log2(count) + 1)
        oldest = Signal.like(newest)
        m.d.comb += [
            self.number.eq(newest),
            self.room.eq((newest[:-1] != oldest[:-1]) | (newest[-1] == oldest[-1])),
            self.busy.eq(newest != oldest),
        ]
        m.d.sync += [newest.eq(newest + self.put), stored.eq(stored + self.store)]
        whats = self.keep(m, newest[:-1], oldest[:-1], count)
        self.send(m, whats, stored)
        self.retire(m, whats, stored, oldest)
        return m

    def keep(self, m: Module, newest, oldest, count: int):
        """Remember what is on its way; return it by number."""
        whats, going, owes = [], [], []
        new, old = one_hot(m, newest, count, "new"), one_hot(m, oldest, count, "old")
        for number in range(count):
            what = Signal(put_layout(self.config), name=f"what_{number}", reset_less=True)
            valid = Signal(name=f"valid_{number}")
            with m.If(self.put & new[number]):
                m.d.sync += [what.eq(self.what), valid.eq(1)]
            with m.Elif(self.came & old[number]):
                m.d.sync += valid.eq(0)
            whats.append(Value.cast(what))
            going.append(valid & what.has_line & (what.line == self.line))
            owes.append(valid & what.owes & (what.id == self.id))
        m.d.comb += [self.going.eq(Cat(going).any()), self.owes.eq(Cat(owes).any())]
        return whats

    def at(self, m: Module, whats, number: Value, name: str) -> data.View:
        """Return the one of a number."""
        what = Signal(put_layout(self.config), name=name)
        chosen = one_hot(m, number, len(whats), f"{name}_number")
        m.d.comb += Value.cast(what).eq(select(chosen, whats))
        return what

    def send(self, m: Module, whats, stored: Signal):
        """Send what is stored, one line after the other."""
        config = self.config
        m.submodules.words = words = Sram(depth=len(whats), width=8 * config.l2.line_bytes)
        m.submodules.masks = masks = Sram(depth=len(whats), width=config.l2.line_bytes)
        m.submodules.addresses = addresses = Queue(address_layout(config), 4)
        m.submodules.beats = beats = Queue(beat_layout(config), 4)
        connect(m, addresses.o, flipped(self.address))
        connect(m, beats.o, flipped(self.beat))
        next_one, holds, begun = Signal.like(stored), Signal(), Signal()
        line = Signal(config.l2.line_width, reset_less=True)
        what = self.at(m, whats, next_one[:-1], "sent")
        left, rest = Signal(config.beats), Signal(config.beats, reset_less=True)
        beat, moves, loads, last = Signal(config.beats), Signal(), Signal(), Signal()
        strobes = masks.read_data
        present = Cat(strobes.word_select(n, config.beat_bytes).any() for n in range(config.beats))
        m.d.comb += [
            left.eq(Mux(begun, rest, span(present))),
            beat.eq(lowest(left)),
            last.eq(left == beat),
            moves.eq(holds & beats.i.ready & (begun | addresses.i.ready)),
            loads.eq((~holds | (moves & last)) & (next_one != stored)),
            addresses.i.valid.eq(moves & ~begun),
            addresses.i.payload.line.eq(line),
            addresses.i.payload.first.eq(number_of(beat)),
            addresses.i.payload.more.eq(sum((left[n] for n in range(1, len(left))), left[0]) - 1),
            beats.i.valid.eq(moves),
            beats.i.payload.data.eq(
                words.read_data.word_select(number_of(beat), config.data_width)
            ),
            beats.i.payload.strobes.eq(strobes.word_select(number_of(beat), config.beat_bytes)),
            beats.i.payload.last.eq(last),
        ]
        for memory, value in ((words, self.store_data), (masks, self.store_strobes)):
            m.d.comb += [
                memory.write_mask.eq(self.store),
                memory.write_address.eq(self.store_number),
                memory.write_data.eq(value),
                memory.read_enable.eq(loads),
                memory.read_address.eq(next_one[:-1]),
            ]
        with m.If(moves):
            m.d.sync += [rest.eq(left & ~beat), begun.eq(~last), holds.eq(~last)]
        with m.If(loads):
            m.d.sync += [next_one.eq(next_one + 1), holds.eq(what.has_line), line.eq(what.line)]

    def retire(self, m: Module, whats, stored: Signal, oldest: Signal):
        """Give the replies that are owed, in the order of all."""
        what = self.at(m, whats, oldest[:-1], "first")
        ends, reply = Signal(), self.reply.payload
        m.d.comb += [
            ends.eq((oldest != stored) & (~what.has_line | self.response.valid)),
            self.reply.valid.eq(ends & what.owes),
            reply.id.eq(what.id),
            reply.code.eq(Mux(what.has_line, self.response.payload, 0)),
            self.came.eq(ends & (~what.owes | self.reply.ready)),
            self.response.ready.eq(self.came & what.has_line),
            self.failed.eq(self.came & ~what.owes & what.has_line & self.response.payload[1]),
        ]
        m.d.sync += oldest.eq(oldest + self.came)
