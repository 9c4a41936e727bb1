"""Write gather of an L2 slice: assembles each write burst to a line."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import one_hot
from ...lib.sram import Sram, SramWriteSignature
from ...lib.streams import Queue, ResponseSignature
from .layouts import (
    WRITES_AHEAD,
    L2SliceConfig,
    access_layout,
    atomic_layout,
    operation_layout,
)
from .signatures import LineSignature, OutcomeSignature

__all__ = ["L2WriteGather", "beat_layout", "burst_layout"]


def atomic_fields(config: L2SliceConfig) -> dict:
    """Return the fields of a burst that exist only with atomics."""
    return {"atomic": atomic_layout(config)} if config.has_atomics else {}


def burst_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a write burst's id, line and first beat."""
    return data.StructLayout({
        **atomic_fields(config),
        "id": config.id_width,
        "line": config.l2.line_width,
        "first": config.beat_width,
    })


def beat_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a beat of a write burst."""
    return data.StructLayout({
        "data": config.data_width,
        "strobes": config.beat_bytes,
        "last": 1,
    })


def known_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a complete burst: its beats written in whole, and if any byte is.

    Of an atomic, ``full`` is its beat.
    """
    return data.StructLayout({
        **atomic_fields(config),
        "line": config.l2.line_width,
        "id": config.id_width,
        "full": config.beats,
        "some": 1,
    })


class L2WriteGather(SharedBlock):
    """Write gather: offers write bursts in order, each 1 cycle after its last beat.

    One beat is accepted and one burst offered per cycle, while fewer than `WRITES_AHEAD` are
    queued. The outcome of an accepted offer is known 1 cycle later: `done`, or `undone`. In that
    case it is offered again, with all that were accepted after it.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    burst : In(stream.Signature(burst_layout(config)))
    beat : In(stream.Signature(beat_layout(config)))
        Accepted only after its burst.
    write : Out(stream.Signature(operation_layout(config)))
    outcome : In(OutcomeSignature())
        Of the write accepted in the last cycle. If it is not done, nor is one accepted in this
        cycle.
    access : In(ResponseSignature(access_layout(config)))
        Read the line of the write of an access.
    line : Out(LineSignature(config))
        That line, in the next cycle.
    busy : Out(1)
        A burst is queued.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "burst": In(stream.Signature(burst_layout(config))),
            "beat": In(stream.Signature(beat_layout(config))),
            "write": Out(stream.Signature(operation_layout(config))),
            "outcome": In(OutcomeSignature()),
            "access": In(ResponseSignature(access_layout(config))),
            "line": Out(LineSignature(config)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.bursts = bursts = Queue(burst_layout(config), 4)
        connect(m, flipped(self.burst), bursts.i)
        # One bit more than needed for an index: the difference is the number of entries.
        width = exact_log2(WRITES_AHEAD) + 1
        newest, next_one, oldest = Signal(width), Signal(width), Signal(width)
        room, accepts = Signal(), Signal()
        m.d.comb += [
            room.eq((newest - oldest)[:width] < WRITES_AHEAD),
            self.beat.ready.eq(bursts.o.valid & room),
            accepts.eq(self.beat.valid & self.beat.ready),
            bursts.o.ready.eq(accepts & self.beat.payload.last),
            self.write.valid.eq(next_one != newest),
            self.busy.eq(bursts.o.valid | (newest != oldest)),
        ]
        with m.If(self.outcome.done):
            m.d.sync += oldest.eq(oldest + 1)
        with m.If(self.outcome.undone):
            m.d.sync += next_one.eq(oldest)
        with m.Elif(self.write.valid & self.write.ready):
            m.d.sync += next_one.eq(next_one + 1)
        with m.If(bursts.o.ready):
            m.d.sync += newest.eq(newest + 1)
        full, some = self.gather(m, bursts.o.payload, accepts, newest[:-1])
        burst, known = bursts.o.payload, Signal(known_layout(config))
        m.d.comb += [
            known.line.eq(burst.line),
            known.id.eq(burst.id),
            known.full.eq(full),
            known.some.eq(some),
        ]
        if config.has_atomics:
            m.d.comb += known.atomic.eq(burst.atomic)
        self.offer(m, bursts.o.ready, known, newest[:-1], next_one[:-1])
        return m

    def gather(
        self, m: Module, burst: data.View, accepts: Signal, entry: Value
    ) -> tuple[Signal, Signal]:
        """Store a beat in its line; return which beats are complete, and if any byte is written."""
        config, beats = self.config, self.config.beats
        beat = self.beat.payload
        begins, place = Signal(init=1), Signal(config.beat_width)
        full, some = Signal(beats), Signal()
        past_full, past_some = Signal(beats), Signal()
        where = one_hot(m, Mux(begins, burst.first, place), beats, "where")
        is_full = beat.strobes.all()
        if config.has_atomics:
            is_full = is_full | burst.atomic.valid
        m.d.comb += [
            full.eq(Mux(begins, 0, past_full) | Mux(is_full, where, 0)),
            some.eq((~begins & past_some) | beat.strobes.any()),
        ]
        with m.If(accepts):
            m.d.sync += [
                begins.eq(beat.last),
                place.eq(Mux(begins, burst.first, place) + 1),
                past_full.eq(full),
                past_some.eq(some),
            ]
        m.submodules.words = words = Sram(
            depth=WRITES_AHEAD, width=8 * config.l2.line_bytes, granularity=config.data_width
        )
        m.submodules.masks = masks = Sram(
            depth=WRITES_AHEAD, width=config.l2.line_bytes, granularity=config.beat_bytes
        )
        read: Any = ResponseSignature(words.shape.address_width).create()
        word_write: Any = SramWriteSignature(words.shape).create()
        mask_write: Any = SramWriteSignature(masks.shape).create()
        connect(m, read, words.read, masks.read)
        connect(m, word_write, words.write)
        connect(m, mask_write, masks.write)
        mask, access = Mux(accepts, where, 0), self.access.payload
        reads = self.access.valid & (access.writes | access.passes)
        if config.has_atomics:  # the strobes of an atomic that does not write select its word
            reads = self.outcome.done
        m.d.comb += [
            read.valid.eq(reads),
            read.payload.eq(access.entry),
            word_write.mask.eq(mask),
            word_write.address.eq(entry),
            word_write.data.eq(beat.data.replicate(beats)),
            # The first beat clears the strobes of beats that the burst leaves out.
            mask_write.mask.eq(Mux(accepts & begins, ~C(0, beats), mask)),
            mask_write.address.eq(entry),
            mask_write.data.eq(Cat(Mux(where[n], beat.strobes, 0) for n in range(beats))),
            self.line.data.eq(words.data),
            self.line.strobes.eq(masks.data),
        ]
        return full, some

    def offer(self, m: Module, ends: Value, known: data.View, newest: Value, next_one: Value):
        """Store the address and state of a burst that `ends`, and offer the next."""
        config, write, layout = self.config, self.write.payload, known_layout(self.config)
        offered = Signal(layout)
        m.submodules.known_bursts = store = Memory(shape=layout.size, depth=WRITES_AHEAD, init=[])
        into, read = store.write_port(), store.read_port(domain="comb")
        m.d.comb += [
            into.en.eq(ends),
            into.addr.eq(newest),
            into.data.eq(known),
            read.addr.eq(next_one),
            Value.cast(offered).eq(read.data),
            write.write.eq(1),
            write.line.eq(offered.line),
            write.id.eq(offered.id),
            write.beats.eq(offered.full),
            write.is_empty.eq(~offered.some),
            write.allocates.eq(config.allocates(offered.id)),
            write.entry.eq(next_one),
        ]
        if config.has_atomics:
            is_atomic = offered.atomic.valid
            m.d.comb += [
                write.atomic.eq(offered.atomic),
                write.needed.eq(Mux(is_atomic, offered.full, 0)),
                write.beats.eq(Mux(is_atomic, 0, offered.full)),
                write.allocates.eq(is_atomic | config.allocates(offered.id)),
            ]
