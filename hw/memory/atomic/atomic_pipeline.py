"""Read-modify-write of the words of a bank: reads, computes, and writes two cycles later."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from ...emit.shared_block import SharedBlock
from ...isa.operations import AtomicOperation
from .atomic_unit import AtomicUnit, AtomicUnitSignature
from .reservation_table import (
    ReservationSignature,
    ReservationTable,
    ReservationTableConfig,
)

__all__ = ["AtomicPipeline", "atomic_layout", "locked_layout", "write_layout"]


def atomic_layout(config: ReservationTableConfig) -> data.StructLayout:
    """Return the layout of an atomic access, with its values at the bytes of `mask`."""
    return data.StructLayout({
        **config.word,
        "operation": AtomicOperation,
        "mask": 4,
        "operand": 32,
        "expected": 32,
        "owner": ceil_log2(config.owners),
    })


def locked_layout(config: ReservationTableConfig) -> data.StructLayout:
    """Return the layout of a word that only the pipeline accesses in this cycle, if it is valid."""
    return data.StructLayout({"valid": 1, **config.word})


def write_layout(config: ReservationTableConfig) -> data.StructLayout:
    """Return the layout of a write of the pipeline."""
    return data.StructLayout({"valid": 1, **config.word, "data": 32, "mask": 4})


class AtomicPipeline(SharedBlock):
    """Atomic accesses to the words of a bank of 1R1W columns, one per cycle.

    | cycle | event                                                          |
    |-------|----------------------------------------------------------------|
    | 0     | `i` is accepted, and its word read                             |
    | 1     | `word` is valid, and `result`; the word is locked              |
    | 2     | `write` is done in the cycle of its offer; the word is locked  |

    An access is accepted if the read path of its column is free and its word is not locked, so
    words in turn take one cycle each, and one word again and again three. Nobody else may access a
    word while it is locked, nor write in its column in the cycle of `write`. A write of others in
    cycle 0 must not be to the word that is read. Operations then take effect in the order of their
    acceptance, in one order with the accesses of others.

    Parameters
    ----------
    config : ReservationTableConfig

    Members
    -------
    i : In(stream.Signature(atomic_layout(config)))
    free : In(config.columns)
        Columns whose read path no other access uses in this cycle.
    word : In(32)
        The word that was read in the last cycle.
    result : Out(32)
        Of the access that was accepted in the last cycle: the word, or of a store-conditional 0 if
        it writes, else 1. For a store-release it has no meaning.
    write : Out(write_layout(config))
    locked : Out(data.ArrayLayout(locked_layout(config), 2))
    writes : In(config.writes)
        All writes of this cycle, those of the pipeline included.
    busy : Out(1)
        An access is in progress or arrives, or there is a reservation.
    """

    def __init__(self, config: ReservationTableConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(atomic_layout(config))),
            "free": In(config.columns),
            "word": In(32),
            "result": Out(32),
            "write": Out(write_layout(config)),
            "locked": Out(data.ArrayLayout(locked_layout(config), 2)),
            "writes": In(config.writes),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, request = self.config, self.i.payload
        unit: Any = AtomicUnitSignature().create()
        table: Any = ReservationSignature(config).create()
        m.submodules.unit = atomic_unit = AtomicUnit()
        m.submodules.reservations = reservations = ReservationTable(config)
        connect(m, unit, atomic_unit)
        connect(m, table, reservations)
        locked = [
            word.valid & (word.line == request.line) & (word.column == request.column)
            for word in self.locked
        ]
        is_conditional = request.operation == AtomicOperation.SC
        is_reserving = request.operation == AtomicOperation.LR
        accepted = Signal()
        m.d.comb += [
            self.i.ready.eq(self.free.bit_select(request.column, 1) & ~Cat(locked).any()),
            accepted.eq(self.i.valid & self.i.ready),
            table.request.valid.eq(accepted & (is_conditional | is_reserving)),
            table.request.reserves.eq(is_reserving),
            table.request.owner.eq(request.owner),
            *(table.request[name].eq(request[name]) for name in config.word),
            table.writes.eq(self.writes),
        ]

        read: Any = Signal(request.shape(), reset_less=True)
        read_valid, read_conditional, read_fails = Signal(), Signal(), Signal()
        m.d.sync += [
            read_valid.eq(accepted),
            read.eq(request),
            read_conditional.eq(is_conditional),
            read_fails.eq(is_conditional & ~table.holds),
        ]
        m.d.comb += [
            unit.operation.eq(read.operation),
            unit.mask.eq(read.mask),
            unit.operand.eq(read.operand),
            unit.expected.eq(read.expected),
            unit.old.eq(self.word),
            self.result.eq(Mux(read_conditional, read_fails, self.word)),
        ]

        written: Any = Signal(write_layout(config), reset_less=True)
        written_valid = Signal()
        m.d.sync += [
            written_valid.eq(read_valid & unit.writes & ~read_fails),
            *(written[name].eq(read[name]) for name in (*config.word, "mask")),
            written.data.eq(unit.word),
        ]
        m.d.comb += [
            self.write.eq(written),
            self.write.valid.eq(written_valid),
            self.busy.eq(self.i.valid | read_valid | written_valid | table.busy),
        ]
        for locked_word, valid, stage in zip(
            self.locked, (read_valid, written_valid), (read, written), strict=True
        ):
            m.d.comb += locked_word.valid.eq(valid)
            m.d.comb += [locked_word[name].eq(stage[name]) for name in config.word]
        return m
