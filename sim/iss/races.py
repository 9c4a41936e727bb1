"""Check for races on the instruction-set model: reports; the C++ of the model detects them."""

from ...hw.config import MachineConfig
from .native_machine import NativeMachine
from .native_types import ISS
from .outcome import Partner
from .work_watch import WorkWatch

__all__ = ["Races"]

#: Advice by the members of `Lack` of the C++; `{before}` is the warp of the earlier access.
ADVICE = {
    "Order": "nothing orders the two: synchronise between them by a barrier, a launch, or a wait "
    "for a unit",
    "Fence": "they are ordered, but the store may still be on its way: call vx_fence after it, in "
    "{before}",
    "Copy": "they are ordered, but the core may hold an older copy of the line: call vx_fence "
    "before the load, after the two warps have synchronised",
    "Command": "the access may not be complete when the command starts: call vx_fence between the "
    "two",
    "Path": "the two go different ways, one of them through the window: call vx_fence between them",
    "Update": "the lanes store at once, so only one update remains: let each lane update an "
    "element of its own, or let one lane after the other do it",
}


class Races:
    """Reporter of races.

    Parameters
    ----------
    native : NativeMachine
    config : MachineConfig
    watch : WorkWatch

    """

    def __init__(self, native: NativeMachine, config: MachineConfig, watch: WorkWatch):
        assert config.core is not None
        self.native, self.watch, self.warps = native, watch, config.core.warps
        self.all_warps = config.all_cores * config.core.warps

    def latest(self) -> tuple[str, Partner]:
        """Return the last race in words, and its earlier access."""
        race = self.native.call("iss_race")
        lack = ISS.enumeration("Lack")(race.lack).name
        agent, what = race.agent, f"the {'store' if race.is_store else 'load'} of "
        if agent >= self.all_warps:
            stream = agent - self.all_warps
            what = f"{self.watch.name(stream, race.time)}, started by "
            agent = self.native.call("iss_work_starter", stream, race.time)
        core, warp = divmod(agent, self.warps)
        before = f"core {core}, warp {warp}"
        advice = ADVICE[lack].format(before=before)
        partner = Partner(what + before, core, warp, race.pc, advice)
        own = f"{'store' if race.with_store else 'load'} of {race.size} bytes"
        if race.later >= self.all_warps:
            work = self.watch.name(race.later - self.all_warps, race.later_time)
            own = f"{'write' if race.with_store else 'read'} by {work}"
        if lack == "Update":
            own += f" at 0x{race.address:08x} by several lanes that loaded its old value"
            return f"{own}: all but one update are lost", partner
        return f"{own} at 0x{race.address:08x}, in no order with {partner.what}", partner
