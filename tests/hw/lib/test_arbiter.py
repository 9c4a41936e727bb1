"""Tests of `hw.lib.arbiter`: order and fairness."""

import random
from functools import partial

import pytest

from spica.hw.lib.arbiter import Arbiter
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.synth.measure import measure


def round_robin(requesters: int, last: int | None, requests: int) -> int | None:
    """Golden model: the first requester after `last` in circular order, None without requests."""
    order = range(requesters) if last is None else range(last + 1, last + 1 + requesters)
    return next((n % requesters for n in order if requests >> n % requesters & 1), None)


async def compare(ctx, dut, steps):
    """Drive random requests and `accept`; compare each grant with the golden model."""
    requesters = dut.config
    rng = random.Random(requesters)
    last = None
    for _ in range(steps):
        requests = rng.choice([0, (1 << requesters) - 1, rng.getrandbits(requesters)])
        accepted = rng.randint(0, 1)
        ctx.set(dut.requests, requests)
        ctx.set(dut.accept, accepted and requests != 0)
        chosen = round_robin(requesters, last, requests)
        assert ctx.get(dut.grant) == (0 if chosen is None else 1 << chosen)
        await ctx.tick()
        if accepted and chosen is not None:
            last = chosen


@pytest.mark.parametrize("requesters", [1, 2, 3, 4, 7, 24, 33])
def test_grants_match_golden_model(requesters):
    dut = require_no_loop(Arbiter(requesters))
    simulate(dut, partial(compare, dut=dut, steps=300))


@pytest.mark.parametrize(("requesters", "depth"), [(8, 10), (16, 18), (24, 21), (64, 29)])
@pytest.mark.quick(2)
def test_depth_is_as_stated(requesters, depth):
    """No carry chain runs through all requesters."""
    assert measure(Arbiter(requesters), "arbiter").depth <= depth
