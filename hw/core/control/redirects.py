"""Redirects of warps by branches and control instructions, for fetch and the scoreboard."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, number_of, select
from ...lib.streams import ResponseSignature
from ..front_end_layouts import redirect_layout
from ..layouts import branch_layout
from .faults import FaultCause, fault_layout
from .warp_table import ThreadMasksSignature

__all__ = ["ControlOutcomeSignature", "Redirects", "turn_layout"]


def turn_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a redirect by control: of all `warps`, to `pc`.

    With ``is_start`` the warps are started, otherwise resumed.
    """
    return data.StructLayout({"warps": config.warps, "pc": 32, "is_start": 1})


class ControlOutcomeSignature(wiring.Signature):
    """Outcome of a control instruction for its warp and for those that it starts.

    Members
    -------
    turn : Out(ResponseSignature(turn_layout(config)))
        Redirects warps; accepted while `busy` is low.
    fault : Out(ResponseSignature(fault_layout(config)))
        The instruction failed; accepted while `busy` is low.
    resumed : Out(warps)
        Warps that continue at the next instruction.
    busy : In(1)
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "turn": Out(ResponseSignature(turn_layout(config))),
            "fault": Out(ResponseSignature(fault_layout(config))),
            "resumed": Out(config.warps),
            "busy": In(1),
        })


class Redirects(SharedBlock):
    """Redirect unit: one redirect and one fault per cycle, those of branches first.

    A branch is answered in its cycle: by a redirect if its target is not the next instruction, by
    a fault if it is illegal, otherwise by `resume` alone. A turn of control executes from the next
    cycle on, one warp in each cycle without a redirect by a branch; a fault of control likewise.
    `resume` and `start` are in the cycle of the redirect.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    branch : In(ResponseSignature(branch_layout(config)))
    control : In(ControlOutcomeSignature(config))
    released : In(warps)
        Warps that a barrier releases: they continue at the next instruction.
    masks : In(ThreadMasksSignature(config))
        Branches of inactive warps are ignored: the run has ended meanwhile.
    redirect : Out(ResponseSignature(redirect_layout(config)))
    resume : Out(warps)
    start : Out(warps)
    fault : Out(ResponseSignature(fault_layout(config)))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "branch": In(ResponseSignature(branch_layout(config))),
            "control": In(ControlOutcomeSignature(config)),
            "released": In(config.warps),
            "masks": In(ThreadMasksSignature(config)),
            "redirect": Out(ResponseSignature(redirect_layout(config))),
            "resume": Out(config.warps),
            "start": Out(config.warps),
            "fault": Out(ResponseSignature(fault_layout(config))),
        })

    def build(self, platform):
        m = Module()
        config, control = self.config, self.control
        branch_fault = Signal(fault_layout(config))
        branches, turns, branch_fails = self.follow_branch(m, branch_fault)
        left = Signal(turn_layout(config))  # remainder of the current turn
        failed = Signal()
        failure = Signal(fault_layout(config), reset_less=True)
        resumed = Signal(config.warps)
        chosen = Signal(config.warps)
        m.d.comb += [
            control.busy.eq(left.warps.any() | failed),
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
            resumed.eq(control.resumed | self.released),
            left.warps.eq(left.warps & ~chosen),
            failed.eq(failed & branch_fails),
        ]
        with m.If(~control.busy):
            m.d.sync += [
                left.eq(control.turn.payload),
                left.warps.eq(Mux(control.turn.valid, control.turn.payload.warps, 0)),
                failure.eq(control.fault.payload),
                failed.eq(control.fault.valid),
            ]
        return m

    def follow_branch(self, m: Module, fault: data.View):
        """Return the warps resumed by a branch, and whether it redirects and whether it faults."""
        config = self.config
        branch = self.branch.payload
        warps = Signal(config.warps)
        disagrees = branch.disagree.any() & (config.divergent_branch == "error")
        is_misaligned = branch.target[:2].any()
        fails, continues, turns = Signal(), Signal(), Signal()
        m.d.comb += [
            warps.eq((self.branch.valid << branch.warp) & self.masks.active),
            fails.eq(warps.any() & (disagrees | is_misaligned)),
            fault.warp.eq(branch.warp),
            fault.pc.eq(branch.pc),
            fault.cause.eq(Mux(disagrees, FaultCause.DIVERGENT_BRANCH, FaultCause.MISALIGNED_JUMP)),
            fault.lanes.eq(
                Mux(
                    disagrees,
                    branch.disagree,
                    select(warps, [self.masks.mask[w] for w in range(config.warps)]),
                )
            ),
            fault.address.eq(branch.target),
            continues.eq(warps.any() & ~fails),
            turns.eq(continues & (branch.target[2:] != (branch.pc[2:] + 1)[:30])),
        ]
        return Mux(continues, warps, 0), turns, fails
