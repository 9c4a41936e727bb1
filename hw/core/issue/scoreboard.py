"""Scoreboard: holds back instructions with register hazards."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import PipelineConfig
from ...emit.component import Component
from ..front_end_layouts import head_layout
from ..warp_state import WarpStateSignature
from .scoreboard_events import ClaimSignature, EventDecoder, ScoreboardEventsSignature
from .stall_reason import StallReason
from .warp_readiness import ReadinessSignature, WarpReadiness
from .warp_scoreboard import WarpScoreboard, needs_layout

__all__ = ["Scoreboard"]


class Scoreboard(Component):
    """Scoreboard: holds back instructions that would read a stale register or overtake a write.

    An issued instruction claims its destination. The register is pending until the result is on a
    writeback bus, and no other instruction that writes it issues. Exception: one that also reads
    it, as an accumulation does, cannot overtake. Consumers issue when the result will arrive while
    they gather operands (`PipelineConfig.snoop`), else when it is in the banks. An instruction with
    register groups issues when none of their registers is pending, and claims each register of its
    destination group until that register is written. The path from
    `heads` and `active` to `readiness` is combinational. Everything else takes
    effect in the next cycle.

    Members
    -------
    heads : In(head_layout(config)).array(issue_width, warps)
        Next instruction of each warp, and with an `issue_width` of 2 the one after it.
    active : In(warps)
    warps : In(WarpStateSignature(config))
    claims : In(ClaimSignature(config))
        Issued instructions.
    results : In(ScoreboardEventsSignature(config))
    exhausted : In(len(config.credit_ports))
        Ports whose instructions have to wait for a credit.
    readiness : Out(ReadinessSignature(config))
    drained : Out(warps)
        The warp has nothing in flight, no product either.
    reason : Out(ArrayLayout(StallReason, warps))
        Reason why each warp is not ready.
    acquired : Out(1)
        With atomics: an acquire takes effect; loads from the next cycle on must return new data.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        warps = config.warps
        super().__init__({
            "heads": In(head_layout(config)).array(config.issue_width, warps),
            "active": In(warps),
            "warps": In(WarpStateSignature(config)),
            "claims": In(ClaimSignature(config)),
            "results": In(ScoreboardEventsSignature(config)),
            "exhausted": In(len(config.credit_ports)),
            "readiness": Out(ReadinessSignature(config)),
            "drained": Out(warps),
            "reason": Out(data.ArrayLayout(StallReason, warps)),
            **({"acquired": Out(1)} if config.atomics else {}),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = EventDecoder(self.config)
        m.submodules.readiness = readiness = WarpReadiness(self.config)
        connect(m, flipped(self.claims), decoder.claims, readiness.claims)
        connect(m, flipped(self.results), decoder.results)
        connect(m, flipped(self.warps), readiness.warps)
        connect(m, readiness.readiness, flipped(self.readiness))
        for warp in range(self.config.warps):
            m.submodules[f"warp_{warp}"] = board = WarpScoreboard(self.config)
            connect(m, decoder.warp[warp], board.events)
            connect(m, board.hazards, readiness.board[warp])
            for slot, heads in enumerate(self.heads):
                m.d.comb += readiness.heads[slot][warp].eq(heads[warp])
                m.d.comb += [
                    board.needs[slot][name].eq(heads[warp].instruction[name])
                    for name in needs_layout(self.config).members
                ]
        m.d.comb += [
            readiness.active.eq(self.active),
            readiness.exhausted.eq(self.exhausted),
            self.drained.eq(readiness.drained),
            self.reason.eq(readiness.reason),
        ]
        if self.config.atomics:
            m.d.comb += self.acquired.eq(readiness.acquired)
        return m
