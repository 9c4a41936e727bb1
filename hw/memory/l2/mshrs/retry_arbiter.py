"""Retry arbiter of an L2 slice: look-ups of the reads in MSHRs."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ....emit.shared_block import SharedBlock
from ....lib.arbiter import Arbiter, ArbitrationSignature
from ....lib.one_hot import number_of
from ....lib.sram import Sram
from ....lib.streams import ResponseSignature
from ..layouts import L2SliceConfig, operation_layout
from ..signatures import MshrUpdateSignature
from .signatures import L2MshrSignature, RetrySignature, SuccessorSignature

__all__ = ["L2RetryArbiter", "waiting_layout"]


def waiting_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a read in an MSHR: id, line, beats, and whether a miss allocates."""
    return data.StructLayout({
        "line": config.l2.line_width,
        "id": config.id_width,
        "ticket": config.ticket_width,
        "beats": config.beats,
        "allocates": 1,
    })


class L2RetryArbiter(SharedBlock):
    """Retry arbiter: offers MSHRs for look-up, the successor of the last one first.

    Others that request a look-up are served round-robin, one per cycle. Holds the read of each.

    An MSHR that is claimed is never picked: its fill is deferred, and a read that claims was
    accepted in a cycle with room, so that deferred fills request no look-up in the next.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
    stage : In(MshrUpdateSignature(config))
    entry : In(L2MshrSignature(config))
    ticket : In(config.ticket_width)
        Ticket of the operation that is looked up, if it waits.
    states : In(RetrySignature(config))
    successor : In(SuccessorSignature(config))
    pick : Out(ResponseSignature(config.mshr_width))
        MSHR whose look-up is issued; it is offered 1 cycle later.
    codes : In(2 * config.beats)
        Responses of DRAM for the MSHR picked in the last cycle.
    again : Out(stream.Signature(operation_layout(config)))
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "stage": In(MshrUpdateSignature(config)),
            "entry": In(L2MshrSignature(config)),
            "ticket": In(config.ticket_width),
            "states": In(RetrySignature(config)),
            "successor": In(SuccessorSignature(config)),
            "pick": Out(ResponseSignature(config.mshr_width)),
            "codes": In(2 * config.beats),
            "again": Out(stream.Signature(operation_layout(config))),
        })

    def build(self, platform):
        m = Module()
        config, stage, states, successor = self.config, self.stage, self.states, self.successor
        turns: Any = ArbitrationSignature(config.l2.mshrs).create()
        m.submodules.turns = arbiter = Arbiter(config.l2.mshrs)
        connect(m, turns, arbiter)
        moves, takes_over, chains, again_valid = Signal(), Signal(), Signal(), Signal()
        picks, pick, chosen = self.pick.valid, self.pick.payload, Signal(config.l2.mshrs)
        m.d.comb += [
            turns.requests.eq(states.waits),
            chains.eq((successor.one_hot & states.ready).any()),
            chosen.eq(Mux(chains, successor.one_hot, turns.grant)),
            pick.eq(Mux(chains, successor.number, number_of(turns.grant))),
            moves.eq(~again_valid | self.again.ready),
            # Skip an MSHR that is adopted: its new read is stored in this cycle.
            takes_over.eq(stage.adopt & (pick == stage.ahead)),
            turns.accept.eq(moves & ~chains & ~takes_over),
            picks.eq(moves & (chains | states.waits.any()) & ~takes_over),
            states.pick.eq(Mux(moves & ~takes_over, chosen, 0)),
            self.again.valid.eq(again_valid),
        ]
        if platform is None:
            claims = stage.claim & (pick == stage.ahead)
            m.d.sync += Assert(~(picks & claims), "the MSHR of a claimed line is chosen")
        with m.If(moves):
            m.d.sync += again_valid.eq(picks)
        self.offer(m, chosen)
        return m

    def offer(self, m: Module, chosen: Signal):
        """Offer the read of the MSHR picked in the last cycle, as a retry or a fill."""
        config, states, again = self.config, self.states, self.again.payload
        waiting, fills, keeps = self.hold_reads(m), Signal(), Signal()
        mshr = Signal(config.mshr_width, reset_less=True)
        with m.If(self.pick.valid):
            m.d.sync += [
                mshr.eq(self.pick.payload),
                fills.eq((chosen & states.here).any()),
                keeps.eq((chosen & states.here & ~states.passing).any()),
            ]
        m.d.comb += [
            *(again[name].eq(waiting[name]) for name in waiting_layout(config).members),
            again.retry.eq(~fills),
            again.fill.eq(fills),
            again.keeps.eq(keeps),
            again.codes.eq(self.codes),
            again.mshr.eq(mshr),
        ]

    def hold_reads(self, m: Module) -> data.View:
        """Hold the read of each MSHR; return that of the one picked in the last cycle."""
        operation, layout = self.lookup.payload, waiting_layout(self.config)
        m.submodules.waiting = store = Sram(depth=self.config.l2.mshrs, width=layout.size)
        connect(m, self.pick, store.read)
        written = Signal(layout)
        m.d.comb += [
            *(written[name].eq(operation[name]) for name in ("line", "id", "beats", "allocates")),
            written.ticket.eq(self.ticket),
            store.write.mask.eq(self.entry.waits),
            store.write.address.eq(self.entry.waiting),
            store.write.data.eq(written),
        ]
        return data.View(layout, store.data)
