"""Tests of barriers of a core: local, cluster-wide, refused."""

import random
from dataclasses import replace

import pytest

from spica.hw.core.control.barrier import Barrier
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.control.barrier import OF_CORES, BarrierModel, RefusedError
from support.core.small_core import small_core


class Driver:
    """Driver of arrivals and releases, for the barriers of one core and their model."""

    def __init__(self, rng, *, barriers=16, **config):
        self.rng = rng
        self.config = replace(small_core(**config), barriers=barriers)
        self.dut = require_no_loop(Barrier(self.config), ports=[])
        self.model = BarrierModel(self.config, self.request_cluster)
        self.agrees = True
        self.requested = None
        self.causes = []

    def request_cluster(self, index, count):
        self.requested = index, count
        return self.agrees

    def waiting(self):
        return sum(1 << warp for warp in self.model.waiting)

    async def arrive(self, ctx, warp, number, count, *, agrees=True, release=None):
        """Let a warp arrive, in the cycle of a release if there is one; compare all outputs."""
        dut = self.dut
        self.agrees, self.requested, released, cause = agrees, None, 0, None
        if release is not None:
            released = self.model.release(release)
            ctx.set(dut.cluster.release.valid, 1)
            ctx.set(dut.cluster.release.payload.barrier, release)
        try:
            released |= self.model.arrive(warp, number, count)
        except RefusedError as refused:
            cause = refused.cause
            self.causes.append(cause)
        ctx.set(dut.arrival.warps, 1 << warp)
        ctx.set(dut.arrival.number, number)
        ctx.set(dut.arrival.count, count)
        if self.requested:
            await self.request(ctx, released if release is not None else 0, agrees)
            released = 0 if release is not None else released
        assert ctx.get(dut.arrival.ready)
        assert ctx.get(dut.arrival.refused) == (cause is not None)
        if cause is not None:
            assert ctx.get(dut.arrival.cause) == cause
        assert ctx.get(dut.released) == released
        await ctx.tick()
        ctx.set(dut.arrival.warps, 0)
        ctx.set(dut.cluster.release.valid, 0)
        ctx.set(dut.cluster.request.ready, 0)
        ctx.set(dut.cluster.refused, 0)
        assert ctx.get(dut.waiting) == self.waiting()
        return cause

    async def request(self, ctx, released, agrees):
        """Take the request some cycles after it was offered."""
        dut = self.dut
        before = ctx.get(dut.waiting)
        for _ in range(self.rng.randrange(1, 4)):
            assert not ctx.get(dut.arrival.ready)
            assert ctx.get(dut.cluster.request.valid)
            payload = ctx.get(dut.cluster.request.payload)
            assert (payload.barrier, payload.count) == self.requested
            assert ctx.get(dut.released) == released
            await ctx.tick()
            before &= ~released
            assert ctx.get(dut.waiting) == before
            ctx.set(dut.cluster.release.valid, 0)
            released = 0
        ctx.set(dut.cluster.request.ready, 1)
        ctx.set(dut.cluster.refused, not agrees)

    async def release(self, ctx, index):
        """Release the warps that wait for other cores."""
        released = self.model.release(index)
        ctx.set(self.dut.cluster.release.valid, 1)
        ctx.set(self.dut.cluster.release.payload.barrier, index)
        assert ctx.get(self.dut.released) == released
        await ctx.tick()
        ctx.set(self.dut.cluster.release.valid, 0)
        assert ctx.get(self.dut.waiting) == self.waiting()
        return released


@pytest.mark.parametrize("scope", ["cluster", "core"])
@pytest.mark.parametrize(
    ("cores", "warps", "barriers"), [(1, 1, 1), (1, 8, 16), (3, 2, 3), (4, 8, 16), (32, 32, 64)]
)
@pytest.mark.quick(4)
def test_random_arrivals(cores, warps, barriers, scope):
    rng = random.Random(cores)
    driver = Driver(rng, cores=cores, warps=warps, barriers=barriers, barrier_scope=scope)

    def operands():
        number = rng.randrange(min(3, barriers))
        if rng.random() < 0.1:
            number = rng.choice((driver.config.barriers, rng.getrandbits(32)))
        of_cores = scope == "core" and rng.random() < 0.3
        place = (of_cores, number)
        counts = [count for where, count in driver.model.waiting.values() if where == place]
        most = cores if of_cores else min(warps, 3)
        count = counts[0] if counts else rng.randint(1, most)
        if rng.random() < 0.1:
            count = rng.choice((0, warps, warps + 1, cores + 1, rng.getrandbits(32)))
        return number | OF_CORES * of_cores, count

    async def bench(ctx):
        open_later = []
        for _ in range(300):
            free = [warp for warp in range(warps) if warp not in driver.model.waiting]
            if open_later and (not free or rng.random() < 0.3):
                assert await driver.release(ctx, open_later.pop(0))
            elif not free:
                ctx.set(driver.dut.arrival.clear, 1)
                await ctx.tick()
                ctx.set(driver.dut.arrival.clear, 0)
                assert ctx.get(driver.dut.waiting) == 0
                driver.model.waiting.clear()
            else:
                agrees = rng.random() < 0.9
                number, count = operands()
                release = None
                if open_later and open_later[0] != number & ~OF_CORES and rng.random() < 0.3:
                    release = open_later.pop(0)
                arrival = (rng.choice(free), number, count)
                cause = await driver.arrive(ctx, *arrival, agrees=agrees, release=release)
                if driver.requested and cause is None:
                    open_later.append(driver.requested[0])

    simulate(driver.dut, bench)
    if (cores, warps) == (4, 8):
        assert len(set(driver.causes)) == 4
