"""Tests of the cluster barrier against its golden model: latency, fairness, cost."""

import random

import pytest

from spica.hw.cluster.cluster_barrier import ClusterBarrier
from spica.hw.config import ClusterBarrierConfig
from spica.hw.emit.emitter import emit
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.cluster.cluster_barrier import Arrival, ClusterBarrierModel, Taken
from spica.synth.measure import measure


class Driver:
    """Requests of all cores, cycle by cycle, for the cluster barrier and its model.

    Attributes
    ----------
    opened, released : list of int
        Barriers in the order in which the model opened them and the RTL released them.

    """

    def __init__(self, cores, barriers):
        self.dut = ClusterBarrier(ClusterBarrierConfig(cores=cores, barriers=barriers))
        require_no_loop(self.dut, ports=[])
        self.model = ClusterBarrierModel(cores, barriers)
        self.requests: list[Arrival | None] = [None] * cores
        self.opens = None  # in the previous cycle
        self.opened, self.released, self.refused = [], [], 0

    async def step(self, ctx) -> Taken:
        """Run a cycle; compare taken, refused and released cores."""
        dut = self.dut
        for port, arrival in zip(dut.request, self.requests, strict=True):
            ctx.set(port.valid, arrival is not None)
            if arrival is not None:
                ctx.set(port.payload, {"barrier": arrival.barrier, "count": arrival.count})
        taken = self.model.step(self.requests)
        ready = [ctx.get(port.ready) for port in dut.request]
        assert ready == [core == taken.core for core in range(len(ready))]
        arrival = None
        if taken.core is not None:
            assert ctx.get(dut.refused[taken.core]) == taken.refused
            arrival, self.requests[taken.core] = self.requests[taken.core], None
        assert ctx.get(dut.release.valid) == (self.opens is not None)
        if self.opens is not None:
            self.released.append(ctx.get(dut.release.payload.barrier))
            assert self.released[-1] == self.opens
        self.opens = arrival.barrier if arrival and taken.opens else None
        self.opened += [self.opens] if taken.opens else []
        self.refused += taken.refused
        await ctx.tick()
        waiting = [sum(1 << core for core in cores) for cores in self.model.waiting]
        assert [*ctx.get(dut.waiting)] == waiting
        return taken


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize(
    ("cores", "barriers"), [(1, 1), (2, 1), (3, 4), (8, 16)], ids=lambda n: str(n)
)
@pytest.mark.quick(3)
def test_random_arrivals(cores, barriers, rate):
    """Several barriers at once, of all cores and of some, with counts that disagree.

    At the end every barrier is opened; each must have been released as often as opened.
    """
    rng = random.Random(cores)
    driver = Driver(cores, barriers)
    model = driver.model

    def arrival_of(core):
        """Return an arrival of a core at a barrier where it does not wait yet, if there is one."""
        free = [b for b in range(min(barriers, 5)) if core not in model.waiting[b]]
        if not free:
            return None
        barrier = rng.choice(free)
        count = model.counts[barrier] if model.waiting[barrier] else rng.randint(1, cores)
        if rng.random() < 0.1:
            count = rng.randint(1, cores)
        return Arrival(barrier, count)

    def bring():
        """Let a core arrive at a barrier where others wait."""
        barrier = next(b for b, cores in enumerate(model.waiting) if cores)
        absent = [core for core in range(cores) if core not in model.waiting[barrier]]
        driver.requests[rng.choice(absent)] = Arrival(barrier, model.counts[barrier])

    async def bench(ctx):
        for _ in range(300):
            for core, request in enumerate(driver.requests):
                if request is None and rng.random() < rate:
                    driver.requests[core] = arrival_of(core)
            await driver.step(ctx)
        while any(driver.requests) or any(model.waiting):
            if not any(driver.requests):
                bring()
            await driver.step(ctx)
        for _ in range(3):
            await driver.step(ctx)

    simulate(driver.dut, bench)
    assert driver.released == driver.opened
    assert len(driver.opened) > 20
    assert {*driver.opened} == {*range(min(barriers, 5))}
    assert (driver.refused > 0) == (cores > 1)


def test_all_meet_in_as_many_cycles_as_there_are_cores():
    """The release comes in the cycle after the last arrival; the cores may arrive again at once."""
    driver = Driver(4, 2)

    async def bench(ctx):
        for _ in range(3):
            driver.requests = [Arrival(1, 4)] * 4
            taken = [await driver.step(ctx) for _ in range(4)]
            assert [each.core for each in taken] == [0, 1, 2, 3]
            assert [each.opens for each in taken] == [False, False, False, True]
            assert ctx.get(driver.dut.release.valid)
            assert ctx.get(driver.dut.release.payload.barrier) == 1
        await driver.step(ctx)
        assert not ctx.get(driver.dut.release.valid)

    simulate(driver.dut, bench)
    assert driver.released == [1, 1, 1]


def test_a_release_in_every_cycle():
    """Barriers of one core open back to back."""
    driver = Driver(2, 4)

    async def bench(ctx):
        for cycle in range(8):
            driver.requests[cycle % 2] = Arrival(cycle % 4, 1)
            assert (await driver.step(ctx)).opens
            assert ctx.get(driver.dut.release.valid)
        await driver.step(ctx)

    simulate(driver.dut, bench)
    assert driver.released == [0, 1, 2, 3, 0, 1, 2, 3]


def test_a_refusal_changes_nothing():
    driver = Driver(3, 2)

    async def bench(ctx):
        driver.requests[0] = Arrival(1, 2)
        await driver.step(ctx)
        driver.requests[2] = Arrival(1, 3)
        assert (await driver.step(ctx)).refused
        assert ctx.get(driver.dut.waiting[1]) == 0b001
        driver.requests[2] = Arrival(1, 2)
        assert (await driver.step(ctx)).opens
        # A different count is valid now.
        driver.requests = [Arrival(1, 3)] * 3
        for _ in range(3):
            assert not (await driver.step(ctx)).refused
        await driver.step(ctx)

    simulate(driver.dut, bench)
    assert driver.released == [1, 1]


def test_nobody_waits_for_more_than_all_others():
    """If all others request in every cycle, a core waits for each of them at most once."""
    driver = Driver(8, 16)

    async def bench(ctx):
        waited = 0
        for cycle in range(64):
            for core in range(8):
                driver.requests[core] = driver.requests[core] or Arrival(core, 1)
            taken = await driver.step(ctx)
            waited = 0 if taken.core == 5 else waited + 1
            assert waited <= 7, cycle

    simulate(driver.dut, bench)


@pytest.mark.full
def test_cells_and_depth():
    measured = measure(
        ClusterBarrier(ClusterBarrierConfig(cores=8, barriers=16)), "cluster_barrier"
    )
    assert measured.cells <= 280
    assert measured.depth <= 35


def test_it_is_emitted():
    verilog = emit(
        ClusterBarrier(ClusterBarrierConfig(cores=3, barriers=5)), name="cluster_barrier"
    ).verilog
    assert "module cluster_barrier(" in verilog
