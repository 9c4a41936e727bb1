"""Atomic access of an L2 slice: computes the written bytes, and holds the reservations."""

from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ....emit.shared_block import SharedBlock
from ....isa.operations import AtomicOperation
from ....lib.axi import WORD
from ....lib.one_hot import number_of, select_one
from ....lib.streams import ResponseSignature
from ...atomic.atomic_unit import AtomicUnit, AtomicUnitSignature
from ...atomic.reservation_table import ReservationSignature, ReservationTable
from ..layouts import (
    L2SliceConfig,
    access_layout,
    atomic_layout,
    atomic_reply_layout,
    operation_layout,
)
from ..signatures import AtomicOutcomeSignature, LineSignature

__all__ = ["L2AtomicAccess"]


class L2AtomicAccess(SharedBlock):
    """Atomic access: replaces the bytes of a write by the result of its operation on the old word.

    | cycle | an atomic                                                                |
    |-------|--------------------------------------------------------------------------|
    | 0     | `outcome` and `access` are given; its line is read                       |
    | 1     | `line` and `gathered` are valid; `written` and `reply` are combinational |

    One per cycle. As the data array reads, merges and writes a line in one pass, no other
    access comes between. The operand is the word of `gathered` with strobes; the expected value is
    its neighbour. An atomic that does not write has no strobes in `written`. Writes of all kinds,
    also those past the cache, end the reservations of their words.

    Parameters
    ----------
    config : L2SliceConfig
        With atomics.

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
    outcome : In(AtomicOutcomeSignature())
    access : In(ResponseSignature(access_layout(config)))
    line : In(8 * config.l2.line_bytes)
        The line of the access of the last cycle.
    gathered : In(LineSignature(config))
        Bytes of its write.
    written : Out(LineSignature(config))
        The same, or the result of the operation.
    reply : Out(atomic_reply_layout())
    busy : Out(1)
        There is a reservation, or an access of the last cycle.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "outcome": In(AtomicOutcomeSignature()),
            "access": In(ResponseSignature(access_layout(config))),
            "line": In(8 * config.l2.line_bytes),
            "gathered": In(LineSignature(config)),
            "written": Out(LineSignature(config)),
            "reply": Out(atomic_reply_layout()),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        operation, access = self.lookup.payload, self.access.payload
        request = Signal(atomic_layout(self.config), reset_less=True)
        line_number = Signal.like(operation.line, reset_less=True)
        done, fails, writes = Signal(), Signal(), Signal()
        m.d.sync += [
            done.eq(self.outcome.done),
            fails.eq(self.outcome.fails),
            writes.eq(self.access.valid & (access.writes | access.passes)),
        ]
        with m.If(self.access.valid):
            m.d.sync += [request.eq(operation.atomic), line_number.eq(operation.line)]
        unit: Any = AtomicUnitSignature().create()
        m.submodules.unit = atomic_unit = AtomicUnit()
        connect(m, unit, atomic_unit)
        chosen = self.select_word(m, unit)
        is_conditional, applies = Signal(), Signal()
        table = self.reserve(m, request, line_number, done, chosen)
        strobes = self.written.strobes
        words = self.config.reservation_table.columns
        m.d.comb += [
            unit.operation.eq(request.operation),
            is_conditional.eq(request.operation == AtomicOperation.SC),
            applies.eq(unit.writes & (~is_conditional | table.holds)),
            strobes.eq(Mux(done & ~applies, 0, self.gathered.strobes)),
            self.written.data.eq(Mux(done, unit.word.replicate(words), self.gathered.data)),
            self.reply.word.eq(Mux(is_conditional, ~table.holds, unit.old)),
            self.reply.fails.eq(fails),
            self.busy.eq(done | writes | table.busy),
            *(
                column.valid.eq(writes & strobes.word_select(n, WORD // 8).any())
                for n, column in enumerate(table.writes)
            ),
            table.writes[0].line.eq(table.request.line),
        ]
        return m

    def select_word(self, m: Module, unit: Any) -> Signal:
        """Drive the values of the operation; return its word in the line, one-hot."""
        count = self.config.reservation_table.columns
        chosen = Signal(count, name="chosen_word")
        neighbour = Cat(chosen[n ^ 1] for n in range(count))
        masks = [self.gathered.strobes.word_select(n, WORD // 8) for n in range(count)]
        old, operands = (
            [line.word_select(n, WORD) for n in range(count)]
            for line in (self.line, self.gathered.data)
        )
        m.d.comb += [
            chosen.eq(Cat(mask.any() for mask in masks)),
            unit.mask.eq(select_one(chosen, masks)),
            unit.old.eq(select_one(chosen, old)),
            unit.operand.eq(select_one(chosen, operands)),
            unit.expected.eq(select_one(neighbour, operands)),
        ]
        return chosen

    def reserve(
        self, m: Module, request: Any, line_number: Signal, done: Signal, chosen: Signal
    ) -> Any:
        """Connect the table of reservations; return its interface without its writes."""
        config = self.config.reservation_table
        m.submodules.reservations = reservations = ReservationTable(config)
        table: Any = ReservationSignature(config).create()
        connect(m, table, reservations)
        reserves = request.operation == AtomicOperation.LR
        m.d.comb += [
            table.request.valid.eq(done & (reserves | (request.operation == AtomicOperation.SC))),
            table.request.reserves.eq(reserves),
            table.request.owner.eq(request.owner),
            table.request.column.eq(number_of(chosen)),
            table.request.line.eq(line_number[exact_log2(self.config.masters) :]),
        ]
        return table
