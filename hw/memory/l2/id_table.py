"""State of each id in an L2 slice: order of its reads and its pending replies."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.streams import ResponseSignature
from .layouts import L2SliceConfig, operation_layout
from .order_signatures import MshrOrderSignature, OrderSignature, WritebackNumbersSignature
from .signatures import SweepSignature
from .table import L2Table, TableShape

__all__ = ["L2Ids", "identity_layout"]


def identity_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the state of an id.

    Its reads have tickets: ``next_ticket`` is for the next that waits, ``turn`` is the one to be
    answered next; if they are equal, none waits. ``youngest`` is the MSHR of the last read taken.
    ``reply_pending``: a reply is outstanding, the last of them with write-back ``back``.
    """
    return data.StructLayout({
        "turn": config.ticket_width,
        "next_ticket": config.ticket_width,
        "youngest": config.mshr_width,
        "reply_pending": 1,
        "back": config.back_width,
    })


class L2Ids(SharedBlock):
    """Order of each id: tickets of its reads, and its pending replies.

    State read in one cycle is available, and updated, in the next. Prefetches take no part in the
    order.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    start : In(ResponseSignature(operation_layout(config)))
        Read the state of an operation's id.
    lookup : In(ResponseSignature(operation_layout(config)))
        The operation of the last cycle. All below refers to it.
    stage : In(OrderSignature())
    mshrs : In(MshrOrderSignature(config))
    writebacks : In(WritebackNumbersSignature(config))
    sweep : Out(SweepSignature(config.id_width))
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "start": In(ResponseSignature(operation_layout(config))),
            "lookup": In(ResponseSignature(operation_layout(config))),
            "stage": In(OrderSignature()),
            "mshrs": In(MshrOrderSignature(config)),
            "writebacks": In(WritebackNumbersSignature(config)),
            "sweep": Out(SweepSignature(config.id_width)),
        })

    def build(self, platform):
        m = Module()
        config, layout = self.config, identity_layout(self.config)
        shape = TableShape(rows=1 << config.id_width, width=layout.size)
        m.submodules.table = table = L2Table(shape)
        read: Any = ResponseSignature(config.id_width).create()
        connect(m, read, table.read)
        connect(m, table.sweep, flipped(self.sweep))
        operation, state, is_demand = self.lookup.payload, Signal(layout), Signal()
        follows, leads, is_ordered = Signal(), Signal(), Signal()
        m.d.comb += [
            read.valid.eq(self.start.valid & ~self.start.payload.walk),
            read.payload.eq(self.start.payload.id),
            Value.cast(state).eq(table.row),
            is_demand.eq(operation.beats.any()),
            is_ordered.eq(state.turn == state.next_ticket),
            follows.eq(state.turn != operation.ticket),
            leads.eq(state.youngest != operation.mshr),
            self.stage.is_ordered.eq(is_ordered),
            self.stage.follows.eq(follows & is_demand),
            self.mshrs.ticket.eq(state.next_ticket),
            self.mshrs.youngest.eq(state.youngest),
            self.mshrs.is_oldest.eq(Mux(operation.read, is_ordered, ~follows) | ~is_demand),
            self.mshrs.leads.eq(leads & is_demand),
        ]
        self.update(m, table, state, is_demand)
        return m

    def update(self, m: Module, table: L2Table, state: data.View, is_demand: Signal):
        """Write the new state of the id, and compare its pending reply with the write-backs."""
        writebacks, promise, becomes = self.writebacks, self.stage.promise, Signal.like(state)
        takes, frees, valid = Signal(), Signal(), Signal()
        # Numbers of write-backs in flight run from the oldest to the next, and wrap around.
        width = self.config.back_width
        age = (state.back - writebacks.oldest)[:width]
        ages = (writebacks.following - writebacks.oldest)[:width]
        m.d.sync += valid.eq(table.read.valid)
        m.d.comb += [
            takes.eq(self.mshrs.take & is_demand),
            frees.eq(self.mshrs.free & is_demand),
            self.stage.reply_pending.eq(state.reply_pending & (age < ages)),
            becomes.turn.eq(state.turn + frees),
            becomes.next_ticket.eq(state.next_ticket + takes),
            becomes.youngest.eq(Mux(takes, self.mshrs.mshr, state.youngest)),
            becomes.reply_pending.eq(promise | self.stage.reply_pending),
            becomes.back.eq(Mux(promise, writebacks.following, state.back)),
            # Clear a debt that is paid before its number is reused.
            table.write.eq(
                valid
                & (takes | frees | promise | (state.reply_pending & ~self.stage.reply_pending))
            ),
            table.written.eq(becomes),
        ]
