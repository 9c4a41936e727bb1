"""Where warps go on: branches and what control found, to fetch and to the scoreboard."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import CoreConfig
from ..memory.arbiter import lowest, number_of, select
from ..shared_block import SharedBlock
from ..streams import ResponseSignature
from .faults import FaultCause, fault_layout
from .front_layouts import redirect_layout
from .layouts import branch_layout

__all__ = ["Redirects", "turn_layout"]


def turn_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a change of course that control found: of all `warps`, to `pc`.

    With ``is_start`` warps are started, otherwise they are resumed.
    """
    return data.StructLayout({"warps": config.warps, "pc": 32, "is_start": 1})


class Redirects(SharedBlock):
    """One redirect and one fault per cycle, those of branches first.

    A branch is answered in its cycle: where it goes on elsewhere than at the next instruction, by
    a redirect; where it cannot be carried out, by a fault; otherwise by `resume` alone. A turn of
    control is taken while `busy` is low and carried out from the next cycle on, one warp in each
    cycle without a redirect of a branch; a fault of control, likewise. What is resumed comes in
    the cycle of its redirect, what is started too.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    branch : In(ResponseSignature(branch_layout(config)))
    turn : In(ResponseSignature(turn_layout(config)))
        While `busy` is low.
    found : In(ResponseSignature(fault_layout(config)))
        A fault of control, while `busy` is low.
    resumed : In(warps)
        Warps that go on at the next instruction.
    mask : In(ArrayLayout(threads, warps))
    active : In(warps)
        A branch of another warp is ignored: everything has ended meanwhile.
    busy : Out(1)
    redirect : Out(ResponseSignature(redirect_layout(config)))
    resume : Out(warps)
    start : Out(warps)
    fault : Out(ResponseSignature(fault_layout(config)))
    """

    branch: Any
    turn: Any
    found: Any
    resumed: Signal
    mask: data.View
    active: Signal
    busy: Signal
    redirect: Any
    resume: Signal
    start: Signal
    fault: Any

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__({
            "branch": In(ResponseSignature(branch_layout(config))),
            "turn": In(ResponseSignature(turn_layout(config))),
            "found": In(ResponseSignature(fault_layout(config))),
            "resumed": In(config.warps),
            "mask": In(data.ArrayLayout(config.threads, config.warps)),
            "active": In(config.warps),
            "busy": Out(1),
            "redirect": Out(ResponseSignature(redirect_layout(config))),
            "resume": Out(config.warps),
            "start": Out(config.warps),
            "fault": Out(ResponseSignature(fault_layout(config))),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        branch_fault = Signal(fault_layout(config))
        branches, turns, branch_fails = self.follow_branch(m, branch_fault)
        left = Signal(turn_layout(config))  # of the turn that is being carried out
        failed = Signal()
        failure = Signal(fault_layout(config), reset_less=True)
        resumed = Signal(config.warps)
        chosen = Signal(config.warps)
        m.d.comb += [
            self.busy.eq(left.warps.any() | failed),
            chosen.eq(Mux(turns, 0, lowest(left.warps))),
            self.start.eq(Mux(left.is_start, chosen, 0)),
            self.resume.eq(resumed | branches | Mux(left.is_start, 0, chosen)),
            self.redirect.valid.eq(turns | left.warps.any()),
            self.redirect.payload.warp.eq(
                Mux(turns, self.branch.payload.warp, number_of(chosen)),
            ),
            self.redirect.payload.pc.eq(Mux(turns, self.branch.payload.target, left.pc)),
            self.fault.valid.eq(branch_fails | failed),
            self.fault.payload.eq(Mux(branch_fails, branch_fault, failure)),
        ]
        m.d.sync += [
            resumed.eq(self.resumed),
            left.warps.eq(left.warps & ~chosen),
            failed.eq(failed & branch_fails),
        ]
        with m.If(~self.busy):
            m.d.sync += [
                left.eq(self.turn.payload),
                left.warps.eq(Mux(self.turn.valid, self.turn.payload.warps, 0)),
                failure.eq(self.found.payload),
                failed.eq(self.found.valid),
            ]
        return m

    def follow_branch(self, m: Module, fault):
        """Return who is resumed by a branch, whether it is redirected, whether it is a `fault`."""
        config = self.config
        branch = self.branch.payload
        warps = Signal(config.warps)
        disagrees = branch.disagree.any() & (config.divergent_branch == "error")
        is_misaligned = branch.target[:2].any()
        fails, goes_on, turns = Signal(), Signal(), Signal()
        m.d.comb += [
            warps.eq((self.branch.valid << branch.warp) & self.active),
            fails.eq(warps.any() & (disagrees | is_misaligned)),
            fault.warp.eq(branch.warp),
            fault.pc.eq(branch.pc),
            fault.cause.eq(Mux(disagrees, FaultCause.DIVERGENT_BRANCH, FaultCause.MISALIGNED_JUMP)),
            fault.lanes.eq(
                Mux(
                    disagrees,
                    branch.disagree,
                    select(warps, [self.mask[w] for w in range(config.warps)]),
                )
            ),
            fault.address.eq(branch.target),
            goes_on.eq(warps.any() & ~fails),
            turns.eq(goes_on & (branch.target[2:] != (branch.pc[2:] + 1)[:30])),
        ]
        return Mux(goes_on, warps, 0), turns, fails
