"""Tests of the cluster barrier: order, releases, refusals, cost.

`formal/cluster_barriers.py` proves all sequences of arrivals, and the stress test of
`tests/system/consistency` runs it with the barriers of cores.
"""

import pytest

from spica.hw.cluster.cluster_barrier import ClusterBarrier
from spica.hw.config import ClusterBarrierConfig
from spica.sim.engine.testbench import require_no_loop, simulate


class Driver:
    """Requests of all cores, each held until it is accepted.

    Attributes
    ----------
    requests : list of (int, int)
        Barrier and count of each core; None without a request.
    released : list of int
        Barriers in the order of their release.

    """

    def __init__(self, cores, barriers):
        self.dut = ClusterBarrier(ClusterBarrierConfig(cores=cores, barriers=barriers))
        require_no_loop(self.dut, ports=[])
        self.requests = [None] * cores
        self.released = []

    async def step(self, ctx):
        """Run a cycle; return the accepted core, and whether it is refused."""
        dut = self.dut
        for port, request in zip(dut.core, self.requests, strict=True):
            port = port.request
            ctx.set(port.valid, request is not None)
            if request is not None:
                ctx.set(port.payload, {"barrier": request[0], "count": request[1]})
        (core,) = [n for n, port in enumerate(dut.core) if ctx.get(port.request.ready)] or [None]
        refused = core is not None and bool(ctx.get(dut.core[core].refused))
        if core is not None:
            self.requests[core] = None
        if ctx.get(dut.core[0].release.valid):
            self.released.append(ctx.get(dut.core[0].release.payload.barrier))
        await ctx.tick()
        return core, refused


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 8])
def test_all_arrive_in_as_many_cycles_as_there_are_cores(cores):
    """The release comes in the cycle after the last arrival; the cores may arrive again at once."""
    driver = Driver(cores, 2)

    async def bench(ctx):
        for meeting in range(3):
            driver.requests = [(1, cores)] * cores
            for core in range(cores):
                assert await driver.step(ctx) == (core, False)
                assert driver.released == [1] * meeting
                waiting = 0 if core == cores - 1 else (2 << core) - 1
                assert [*ctx.get(driver.dut.waiting)] == [0, waiting]
        await driver.step(ctx)
        assert not ctx.get(driver.dut.core[0].release.valid)

    simulate(driver.dut, bench)
    assert driver.released == [1, 1, 1]


def test_a_release_in_every_cycle():
    """Barriers of one core open back to back."""
    driver = Driver(2, 4)

    async def bench(ctx):
        for cycle in range(8):
            driver.requests[cycle % 2] = (cycle % 4, 1)
            assert await driver.step(ctx) == (cycle % 2, False)
            assert len(driver.released) == cycle
        await driver.step(ctx)

    simulate(driver.dut, bench)
    assert driver.released == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.parametrize("other", [1, 3])
def test_a_refusal_changes_nothing(other):
    driver = Driver(3, 2)

    async def bench(ctx):
        driver.requests[0] = (1, 2)
        await driver.step(ctx)
        driver.requests[2] = (1, other)
        assert await driver.step(ctx) == (2, True)
        assert ctx.get(driver.dut.waiting[1]) == 0b001
        driver.requests[2] = (1, 2)
        assert await driver.step(ctx) == (2, False)
        # A different count is valid now.
        driver.requests = [(1, 3)] * 3
        for core in range(3):
            assert await driver.step(ctx) == (core, False)
        await driver.step(ctx)

    simulate(driver.dut, bench)
    assert driver.released == [1, 1]


def test_nobody_waits_for_more_than_all_others():
    """If all others request in every cycle, a core waits for each of them at most once."""
    driver = Driver(8, 16)

    async def bench(ctx):
        for cycle in range(64):
            driver.requests = [request or (core, 1) for core, request in enumerate(driver.requests)]
            assert await driver.step(ctx) == (cycle % 8, False)

    simulate(driver.dut, bench)
