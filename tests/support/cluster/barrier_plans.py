"""Random plans of barrier meetings for the RTL and its model, many meetings at once."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spica.hw.config import CoreBlockConfig
from spica.sim.golden.core.control.barrier import OF_CORES
from support.cluster.barrier_scopes import BarrierResponse, BarrierSystemModel, Coming

__all__ = ["Meeting", "MeetingPlan", "Moment", "step"]


@dataclass
class Meeting:
    """A barrier meeting: warps of some cores that continue once all of them have arrived.

    Attributes
    ----------
    key : tuple
        Identifies the meeting among those at the same time.
    coming : dict
        Arrival instruction of each (core, warp).
    left : list
        Warps that have not arrived yet.
    arrived : set
        Warps that wait.
    held : int
        Number of illegal arrivals in progress; while it is not 0, no other warp arrives.

    """

    key: tuple
    coming: dict[tuple[int, int], Coming]
    left: list[tuple[int, int]] = field(default_factory=list)
    arrived: set[tuple[int, int]] = field(default_factory=set)
    held: int = 0


@dataclass(frozen=True)
class Moment:
    """A cycle: arrivals by core, waiting warps at its start, and the answer to each core."""

    coming: tuple[Coming | None, ...]
    waiting: tuple[int, ...]
    cores_waiting: tuple[int, ...]
    responses: tuple[BarrierResponse, ...]


def step(model: BarrierSystemModel, coming: Sequence[Coming | None]) -> Moment:
    """Advance the model by one cycle; return the cycle."""
    waiting = tuple(sum(1 << warp for warp in core.waiting) for core in model.cores)
    cluster_barrier = model.cluster_barrier
    cores = tuple(sum(1 << core for core in cores) for cores in cluster_barrier.waiting)
    return Moment(tuple(coming), waiting, cores, tuple(model.step(coming)))


class MeetingPlan:
    """Generator of meetings, which sends their warps cycle by cycle.

    The model of all barriers computes the outcome. Independent of the model, each meeting is
    checked: no warp continues before all have arrived, and then all continue in the expected
    cycle.

    Parameters
    ----------
    config : CoreBlockConfig
    rng : random.Random
    rate : float
        Probability per cycle that a core sends a warp, if it can.
    wrong : float
        Probability that the arrival is an illegal one.

    Attributes
    ----------
    tally : Counter
        Arrivals, meetings, refusals by cause, and the most meetings at once.

    """

    def __init__(self, config: CoreBlockConfig, rng: random.Random, *, rate=1.0, wrong=0.05):
        assert config.core is not None
        self.config, self.rng, self.rate, self.wrong = config, rng, rate, wrong
        self.model = BarrierSystemModel(config)
        self.free = [set(range(config.core.warps)) for _ in range(config.cores)]
        self.meetings: dict[tuple, Meeting] = {}
        self.ending: list[Meeting] = []  # opened, to be released in this cycle
        self.pending: list[tuple[Coming, Meeting | None, bool] | None] = [None] * config.cores
        self.tally: Counter[str] = Counter()
        self.cycle = 0

    def run(self, cycles: int) -> Iterator[Moment]:
        """Yield `cycles` cycles, then further ones until all meetings are over."""
        last = self.cycle + cycles
        while self.cycle < last or self.meetings or self.ending or any(self.pending):
            if self.cycle < last:
                self.call()
            assert self.cycle < last + 100 * len(self.free) * 64, "a meeting does not end"
            for core in range(len(self.free)):
                if self.pending[core] is None and self.rng.random() < self.rate:
                    self.pending[core] = self.send(core, wrong=self.cycle < last)
            yield self.step()

    def call(self):
        """Start meetings of free warps."""
        for _ in range(2):
            meeting = self.invite()
            if meeting is None or meeting.key in self.meetings or self.still_there(meeting):
                continue
            self.meetings[meeting.key] = meeting
            for core, warp in meeting.coming:
                self.free[core].remove(warp)
            meeting.left = self.rng.sample([*meeting.coming], len(meeting.coming))
            self.tally["at once"] = max(self.tally["at once"], len(self.meetings))

    def still_there(self, meeting: Meeting) -> bool:
        """Return True if a core of the meeting has not yet seen the barrier open."""
        cores = {core for core, _ in meeting.coming}
        return any(
            meeting.key == other.key and cores & {core for core, _ in other.coming}
            for other in self.ending
        )

    def invite(self) -> Meeting | None:
        """Return a meeting of free warps, if possible: of all cores, of some, or of one."""
        rng, config = self.rng, self.config
        barrier = rng.randrange(min(config.barriers, 6))
        cores = [core for core, warps in enumerate(self.free) if warps]
        if config.barrier_scope == "cluster":
            if len(cores) < config.cores:
                return None
            # A different number of warps of each core.
            parts = {core: rng.randint(1, len(self.free[core])) for core in cores}
            return self.meeting((barrier,), barrier, parts, parts)
        if not cores:
            return None
        if rng.random() < 0.5:
            core = rng.choice(cores)
            parts = {core: rng.randint(1, len(self.free[core]))}
            return self.meeting((barrier, core), barrier, parts, parts)
        chosen = rng.sample(cores, rng.randint(1, len(cores)))
        counts = dict.fromkeys(chosen, len(chosen))
        return self.meeting(
            (barrier, "cores"), OF_CORES | barrier, dict.fromkeys(chosen, 1), counts
        )

    def meeting(self, key, number, parts, counts) -> Meeting:
        """Return a meeting of `parts[core]` free warps of each core."""
        coming = {
            (core, warp): Coming(warp, number, counts[core])
            for core, some in parts.items()
            for warp in self.rng.sample(sorted(self.free[core]), some)
        }
        return Meeting(key, coming)

    def send(self, core: int, *, wrong: bool):
        """Return a core's next arrival, its meeting, and whether it is illegal."""
        if wrong and self.free[core] and self.rng.random() < self.wrong:
            mistaken = self.mistake(core, self.rng.choice(sorted(self.free[core])))
            return None if mistaken is None else (*mistaken, True)
        able = [
            (meeting, who)
            for meeting in self.meetings.values()
            if not meeting.held
            for who in meeting.left
            if who[0] == core
        ]
        if not able:
            return None
        meeting, who = self.rng.choice(able)
        meeting.left.remove(who)
        return meeting.coming[who], meeting, False

    def mistake(self, core: int, warp: int) -> tuple[Coming, Meeting | None] | None:
        """Return an illegal arrival, and the meeting that it must not open."""
        rng, config = self.rng, self.config
        warps, here = self.model.cores[core].warps, self.model.cores[core].waiting
        kind = rng.randrange(5)
        if kind == 0:
            return Coming(warp, rng.choice((config.barriers, 0x7FFF_FFFF)), 1), None
        if kind == 1:
            return Coming(warp, 0, rng.choice((0, warps + 1, 1 << 31))), None
        if kind in (2, 3) and here:
            (of_cores, barrier), count = rng.choice([*here.values()])
            others = sum(where == (of_cores, barrier) for where, _ in here.values())
            most = config.cores if of_cores else warps
            is_full = others == (1 if of_cores else count)
            wrong = rng.randint(1, most)
            if is_full or wrong != count:
                return Coming(warp, barrier | OF_CORES * of_cores, wrong), None
        if kind == 4 and config.barrier_scope == "core":
            for barrier, cores in enumerate(self.model.cluster_barrier.waiting):
                meeting = self.meetings.get((barrier, "cores"))
                others = {*range(1, config.cores + 1)} - {
                    self.model.cluster_barrier.counts[barrier]
                }
                if cores and core not in cores and meeting and meeting.left and others:
                    count = rng.choice(sorted(others))
                    meeting.held += 1
                    return Coming(warp, OF_CORES | barrier, count), meeting
        return None

    def step(self) -> Moment:
        """Advance by one cycle, and check each meeting."""
        coming = [None if arrival is None else arrival[0] for arrival in self.pending]
        moment = step(self.model, coming)
        responses = moment.responses
        ended, self.ending = self.ending, []
        for core, one in enumerate(responses):
            pending = self.pending[core]
            if pending is None or not one.ready:
                continue
            self.pending[core] = None
            arrival, meeting, is_wrong = pending
            assert (one.cause is not None) == is_wrong, (self.cycle, core, arrival, one)
            if one.cause is not None:
                self.tally[one.cause.name] += 1
                if meeting is not None:
                    meeting.held -= 1
                    self.tally["refused by other cores"] += 1
                continue
            assert meeting is not None
            self.tally["arrivals"] += 1
            meeting.arrived.add((core, arrival.warp))
            if len(meeting.arrived) == len(meeting.coming):
                ended += self.complete(meeting, core)
        released = {
            (core, warp)
            for core, one in enumerate(responses)
            for warp in range(self.model.cores[core].warps)
            if one.released >> warp & 1
        }
        assert released == {who for meeting in ended for who in meeting.arrived}, self.cycle
        for core, warp in released:
            self.free[core].add(warp)
        self.cycle += 1
        return moment

    def complete(self, meeting: Meeting, core: int) -> list[Meeting]:
        """Record that all have arrived; return the meeting if it ends in this cycle already."""
        del self.meetings[meeting.key]
        self.tally["meetings"] += 1
        of_one = self.config.cores == 1 or meeting.key[1:] == (core,)
        self.ending += [] if of_one else [meeting]
        return [meeting] if of_one else []
