"""Tests of `fetch` with random events: order, room, fairness, stale responses."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.front_end.fetch import Fetch
from spica.hw.core.front_end_layouts import position_width
from spica.hw.isa.memory_map import ENTRY
from spica.hw.lib.interfaces.core_memory import pairs
from spica.sim.engine.testbench import require_no_loop, simulate

SMALL = CoreConfig(warps=3, threads=4)


class Driver:
    """Random memory, consumers and redirects around one fetch unit, checked in every cycle.

    A pair is requested if an active warp has room for it and its tag is free: the next one of the
    warp. Warps without instructions go first, equal ones in round-robin order. A request stays
    until it is accepted. Its response is fresh unless a redirect came in between.
    """

    def __init__(self, config, *, seed, latency, stall):
        self.config = config
        self.rng = random.Random(seed)
        self.latency = latency
        self.stall = stall
        self.dut = Fetch(config)
        self.heads = [ENTRY] * config.warps
        self.buffered = [0] * config.warps  # instructions that may be taken
        self.flight = []  # cycle, warp and buffer place of outstanding requests
        self.pcs = [ENTRY] * config.warps  # next pair to request
        self.fresh = {}  # by warp and buffer place, from the offer of a request to its response
        self.pending = None  # request that was not accepted
        self.last = -1  # warp served last
        self.active = 0
        self.served = set()

    def answer(self, cycle):
        """Return warp and buffer place of one due request, in any order."""
        due = [request for request in self.flight if request[0] <= cycle]
        if not due:
            return None
        request = self.rng.choice(due)
        self.flight.remove(request)
        return request[1:]

    def redirect(self):
        """Return None, or a warp and its new address."""
        if self.rng.random() < 0.9:
            return None
        return self.rng.randrange(self.config.warps), self.rng.getrandbits(30) << 2

    def place(self, warp):
        """Return the buffer place of a warp's next pair."""
        return self.pcs[warp] // 8 % pairs(self.config)

    async def step(self, ctx, cycle):
        """Drive one cycle and check it."""
        dut, rng = self.dut, self.rng
        if rng.random() < 0.1:
            self.active = rng.getrandbits(self.config.warps)
        answer, redirect, ready = self.answer(cycle), self.redirect(), rng.random() >= self.stall
        ctx.set(dut.active, self.active)
        ctx.set(dut.request.ready, ready)
        ctx.set(dut.response.valid, answer is not None)
        warp, place = answer or (0, 0)
        ctx.set(dut.response.payload, {"tag": {"warp": warp, "pair": place}})
        ctx.set(dut.redirect.valid, redirect is not None)
        target = redirect or (0, rng.getrandbits(32))
        ctx.set(dut.redirect.payload, {"warp": target[0], "pc": target[1]})
        for number, head in enumerate(self.heads):
            ctx.set(dut.positions[number], head // 4 % (1 << position_width(self.config)))
        _, _, valid, payload, fresh, busy = await ctx.tick().sample(
            dut.request.valid, dut.request.payload, dut.fresh, dut.busy
        )
        assert busy == (valid or bool(self.fresh))
        assert fresh == (answer is not None and self.fresh[answer])
        request = (payload.address, payload.tag.warp, payload.tag.pair) if valid else None
        if self.pending is None:
            self.check(request)
        assert self.pending in (None, request), "a request changed"
        self.pending = None if ready else request
        if valid and ready:
            self.served.add(payload.tag.warp)
            due = cycle + rng.randint(*self.latency)
            self.flight.append((due, payload.tag.warp, payload.tag.pair))
        if answer is not None:
            del self.fresh[answer]
        self.take(answer if fresh else None, redirect)

    def check(self, request):
        """Check a new request, None if there is none."""
        able = {}
        for warp, head in enumerate(self.heads):
            held = (self.pcs[warp] - head) // 4  # -1 if the head is the second of its pair
            fits = held + 2 <= self.config.instruction_buffer
            if self.active >> warp & 1 and fits and (warp, self.place(warp)) not in self.fresh:
                able[warp] = held
        urgent = {warp for warp, held in able.items() if held <= 0}
        if not able:
            assert request is None
            return
        self.last = warp = min(urgent or able, key=lambda warp: (warp <= self.last, warp))
        assert request == (self.pcs[warp], warp, self.place(warp))
        self.fresh[warp, self.place(warp)] = True
        self.pcs[warp] += 8

    def take(self, pushed, redirect):
        """Move the heads after takes and a redirect."""
        if pushed is not None:
            self.buffered[pushed[0]] += 2
        for warp, pc in enumerate(self.pcs):
            # Any instruction that has arrived may be taken, identified by its number.
            here = min(self.buffered[warp], (pc - self.heads[warp]) // 4)
            if here > 0 and self.rng.random() < 0.5:
                self.heads[warp] += 4
                self.buffered[warp] -= 1
        if redirect is not None:
            warp, pc = redirect
            self.heads[warp], self.pcs[warp] = pc, pc & ~7
            self.buffered[warp] = -1 if pc & 4 else 0
            self.fresh |= {number: False for number in self.fresh if number[0] == warp}


@pytest.mark.parametrize(
    ("fields", "latency", "stall"),
    [
        ({}, (1, 1), 0.0),
        ({}, (1, 8), 0.5),
        ({"instruction_buffer": 2}, (1, 5), 0.2),
        ({"instruction_buffer": 3}, (1, 5), 0.2),
        ({"instruction_buffer": 5}, (1, 12), 0.0),
        ({"instruction_buffer": 6}, (1, 12), 0.0),
        ({"instruction_buffer": 7}, (1, 12), 0.1),
        ({"instruction_buffer": 8}, (1, 12), 0.3),
        ({"warps": 1, "threads": 1}, (1, 3), 0.3),
        ({"warps": 8}, (1, 4), 0.1),
    ],
)
@pytest.mark.quick(2)
def test_random_events(fields, latency, stall):
    config = replace(SMALL, **fields)
    driver = Driver(config, seed=config.warps, latency=latency, stall=stall)
    require_no_loop(driver.dut)

    async def bench(ctx):
        for cycle in range(400):
            await driver.step(ctx, cycle)

    simulate(driver.dut, bench)
    assert driver.served == set(range(config.warps))
