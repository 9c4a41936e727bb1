"""Write combiner: merges writes of beats to bursts while they wait for memory."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..emit.shared_block import SharedBlock
from .one_hot import lowest, number_of, one_hot, select
from .sram import Sram
from .write_combiner_config import WriteCombinerConfig

__all__ = ["WriteCombiner", "WriteCombinerConfig"]


class WriteCombiner(SharedBlock):
    """Write combiner: holds lines of writes and sends each as a burst, in allocation order.

    A write to a held line joins it and overwrites its bytes. Otherwise it allocates a line, if
    one is free. The burst of the oldest line is offered when the line is complete, when its
    `patience` has elapsed, or when no more than two lines are free. It is then offered until it
    is accepted; later writes go to other lines. The burst spans the first to the last beat
    written; beats in between without a write have no strobes.

    | cycle | a write to an empty combiner, without patience                                |
    |-------|-------------------------------------------------------------------------------|
    | 0     | `i` is accepted, with its `line`                                              |
    | 1     | `burst` is offered; a write accepted now allocates another line               |
    | 2     | `beat` is offered; one per cycle, of bursts offered before                    |

    An atomic has a line of its own, joins none, and closes all others: they are due at once, and
    later writes begin new lines. So atomics and writes to a beat leave in their order.

    One write is accepted per cycle while bursts are accepted. A line is free from the cycle in
    which its last beat is offered, once its burst was accepted.

    Parameters
    ----------
    config : WriteCombinerConfig

    Members
    -------
    i : In(stream.Signature(config.write_layout))
    joins : Out(1)
        Combinational: the offered write, if accepted, joins a burst that was begun before.
    line : Out(exact_log2(config.lines))
        Combinational: number of its line, which is reused once the line is free.
    burst : Out(stream.Signature(config.burst_layout))
    beat : Out(stream.Signature(config.beat_layout))
    busy : Out(1)
        A line is held.
    """

    def __init__(self, config: WriteCombinerConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(config.write_layout)),
            "joins": Out(1),
            "line": Out(exact_log2(config.lines)),
            "burst": Out(stream.Signature(config.burst_layout)),
            "beat": Out(stream.Signature(config.beat_layout)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        count, beats = config.lines, config.line_beats
        # One-hot: line allocated next, line whose burst is next, line whose beats are next.
        following, requesting, sending = (
            Signal(count, init=1, name=name) for name in ("following", "requesting", "sending")
        )
        waits, held = Signal(count), Signal(count)  # burst not accepted yet; beats not all read
        is_open = Signal(count)  # not offered yet; an offered burst must not change
        addresses = [
            Signal(config.beat_width - config.place_width, name=f"address_{n}", reset_less=True)
            for n in range(count)
        ]
        written = [Signal(beats, name=f"written_{n}", reset_less=True) for n in range(count)]
        m.submodules.beats = memory = Sram(
            depth=count * beats, width=9 * config.beat_bytes, granularity=9
        )
        same = Cat(address == self.i.payload.beat[config.place_width :] for address in addresses)
        matches, begins = Signal(count), Signal()
        in_use, offers = waits | held, Signal()
        joining, closes = is_open, ()
        if config.has_atomics:
            closed = self.close_lines(m, following, begins)
            joining = is_open & ~closed & ~self.i.payload.user.atomic.replicate(count)
            closes = ((closed & requesting).any(),)
        self.decide(m, offers, waits, in_use, following, requesting, written, begins, closes)
        m.d.comb += [
            is_open.eq(waits & ~Mux(offers, requesting, 0)),
            matches.eq(joining & same),
            self.burst.valid.eq(offers),
        ]
        self.accept(m, matches, following, in_use, written, memory, begins)
        with m.If(begins):
            m.d.sync += following.eq(following.rotate_left(1))
            for number, address in enumerate(addresses):
                with m.If(following[number]):
                    m.d.sync += address.eq(self.i.payload.beat[config.place_width :])
        requested = self.offer_burst(m, requesting, addresses, written)
        if config.has_atomics:
            self.hold_users(m, begins, following, requesting)
        sent = self.send(m, held & ~is_open, sending, written, memory)
        m.d.sync += [
            waits.eq((waits & ~Mux(requested, requesting, 0)) | Mux(begins, following, 0)),
            held.eq((held & ~Mux(sent, sending, 0)) | Mux(begins, following, 0)),
        ]
        m.d.comb += self.busy.eq(waits.any() | held.any() | self.beat.valid)
        return m

    def close_lines(self, m: Module, following: Signal, begins: Signal) -> Signal:
        """Return the lines that no write may join: those begun with or before an atomic."""
        closed = Signal.like(following, name="closed")
        with m.If(begins):
            m.d.sync += closed.eq(
                Mux(self.i.payload.user.atomic, ~C(0, len(closed)), closed & ~following)
            )
        return closed

    def hold_users(self, m: Module, begins: Signal, following: Signal, requesting: Signal):
        """Hold the user bits of each line; drive those of the oldest burst."""
        users = []
        for number in range(self.config.lines):
            user = Signal(self.i.payload.user.shape(), name=f"user_{number}", reset_less=True)
            with m.If(begins & following[number]):
                m.d.sync += user.eq(self.i.payload.user)
            users.append(Value.cast(user))
        m.d.comb += Value.cast(self.burst.payload.user).eq(select(requesting, users))

    def accept(
        self,
        m: Module,
        matches: Signal,
        following: Signal,
        in_use: Value,
        written: Sequence[Signal],
        memory: Sram,
        begins: Signal,
    ):
        """Accept a write into its held line, or into a new one if it `begins`."""
        config, write = self.config, self.i.payload
        place = one_hot(m, write.beat[: config.place_width], config.line_beats, "place")
        where, accepted, is_over = Signal(config.lines), Signal(), Signal()
        m.d.comb += [
            self.joins.eq(matches.any()),
            where.eq(Mux(self.joins, matches, following)),
            self.line.eq(number_of(where)),
            self.i.ready.eq(self.joins | ~(in_use & following).any()),
            accepted.eq(self.i.valid & self.i.ready),
            begins.eq(accepted & ~self.joins),
            is_over.eq(self.joins & (select(matches, written) & place).any()),
        ]
        for number, beats in enumerate(written):
            with m.If(accepted & where[number]):
                m.d.sync += beats.eq(Mux(self.joins, beats, 0) | place)
        into = Mux(is_over, write.strobes, ~C(0, config.beat_bytes))
        numbers = range(config.beat_bytes)
        marked = [Cat(write.data.word_select(n, 8), write.strobes[n]) for n in numbers]
        m.d.comb += [
            memory.write.mask.eq(Mux(accepted, into, 0)),
            memory.write.address.eq(Cat(write.beat[: config.place_width], self.line)),
            memory.write.data.eq(Cat(marked)),
        ]

    def decide(
        self,
        m: Module,
        offers: Signal,
        waits: Signal,
        in_use: Value,
        following: Signal,
        requesting: Signal,
        written: Sequence[Signal],
        begins: Signal,
        closes: Sequence[Value],
    ):
        """Offer the oldest line when it need not wait for further writes."""
        offered, is_due, patience = Signal(), Signal(), self.config.patience
        is_old, is_ripe = Signal.like(waits), Signal.like(waits)
        m.d.comb += is_due.eq(
            Cat(
                offered,
                select(requesting, written).all(),
                (in_use & following.rotate_left(min(2, len(waits) - 1))).any(),
                (is_ripe & requesting).any(),
                C(not patience, 1),
                *closes,
            ).any()
        )
        m.d.comb += offers.eq((waits & requesting).any() & is_due)
        m.d.sync += offered.eq(offers & ~self.burst.ready)
        if not patience:
            return
        ticks, begun = Signal(range(patience)), Signal.like(waits)
        m.d.comb += begun.eq(Mux(begins, following, 0))
        with m.If(waits.any()):  # so that clock gating while idle does not change the count
            m.d.sync += ticks.eq(ticks + 1)
        with m.Else():
            m.d.sync += ticks.eq(0)
        with m.If(ticks == patience - 1):
            m.d.sync += [is_old.eq(waits & ~begun), is_ripe.eq((is_old | is_ripe) & ~begun)]
        with m.Else():
            m.d.sync += [is_old.eq(is_old & ~begun), is_ripe.eq(is_ripe & ~begun)]

    def offer_burst(
        self, m: Module, requesting: Signal, addresses: Sequence[Signal], written: Sequence[Signal]
    ) -> Value:
        """Drive the burst of the oldest line; return whether it is accepted."""
        requested, count = Signal(), self.config.line_beats
        # Signals, as a sliced expression would be emitted again for each slice.
        beats, backwards, first, last = (
            Signal(count, name=name) for name in ("beats", "backwards", "first", "last")
        )
        places = number_of(first), number_of(last[::-1])
        m.d.comb += [
            beats.eq(select(requesting, written)),
            backwards.eq(beats[::-1]),
            first.eq(lowest(beats)),
            last.eq(lowest(backwards)),
            self.burst.payload.beat.eq(Cat(places[0], select(requesting, addresses))),
            self.burst.payload.further.eq((places[1] - places[0])[: self.config.place_width]),
            requested.eq(self.burst.valid & self.burst.ready),
        ]
        with m.If(requested):
            m.d.sync += requesting.eq(requesting.rotate_left(1))
        return requested

    def send(
        self, m: Module, ready: Value, sending: Signal, written: Sequence[Signal], memory: Sram
    ) -> Value:
        """Read a beat of the next line to send; return whether it is its last."""
        beats, place, after, above = (
            Signal(self.config.line_beats, name=f"sending_{name}")
            for name in ("beats", "place", "after", "above")
        )
        begins, is_written = Signal(init=1), Signal(reset_less=True)
        moves, reads, sent = Signal(), Signal(), Signal()
        payload, count = self.beat.payload, self.config.beat_bytes
        stored = [memory.data.word_select(byte, 9) for byte in range(count)]
        m.d.comb += [
            beats.eq(select(sending, written)),
            place.eq(Mux(begins, lowest(beats), after)),
            above.eq(beats & -(place << 1)),
            moves.eq(~self.beat.valid | self.beat.ready),
            reads.eq(moves & (ready & sending).any()),
            sent.eq(reads & ~above.any()),
            memory.read.valid.eq(reads),
            memory.read.payload.eq(Cat(number_of(place), number_of(sending))),
            payload.data.eq(Cat(byte[:8] for byte in stored)),
            payload.strobes.eq(Cat(byte[8] for byte in stored) & is_written.replicate(count)),
        ]
        with m.If(moves):
            m.d.sync += [
                self.beat.valid.eq(reads),
                payload.last.eq(~above.any()),
                is_written.eq((beats & place).any()),
            ]
        with m.If(reads):
            m.d.sync += [begins.eq(sent), after.eq(place << 1)]
        with m.If(sent):
            m.d.sync += sending.eq(sending.rotate_left(1))
        return sent
