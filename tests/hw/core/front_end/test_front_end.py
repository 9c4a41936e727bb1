"""Tests of `front_end`: each warp's instruction stream and its rate, for any memory."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.front_end.front_end import FrontEnd
from spica.hw.core.layouts import decoded_layout
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import ENTRY
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.front_end.front_end import WarpView
from support.core.fetch_memory import FetchMemory

SMALL = CoreConfig(warps=3, threads=4)
#: End of memory.
END = ENTRY + 0x400


def make_program(rng) -> dict[int, int]:
    """Return words by address: instructions of all kinds, and invalid words."""
    instructions = list(INSTRUCTIONS.values())
    program = {}
    for address in range(ENTRY, END, 4):
        instruction = rng.choice(instructions)
        program[address] = instruction.match | rng.getrandbits(32) & ~instruction.mask & 0xFFFF_FFFF
    return program


class Bench:
    """Bench that runs the front end cycle by cycle against a `WarpView` of each warp."""

    def __init__(self, config, *, seed=1, latency=(1, 1), stall=0.0):
        self.config = config
        self.rng = random.Random(seed)
        require_no_loop(FrontEnd, replace(config, warps=2, threads=1))
        self.dut = dut = FrontEnd(config)
        self.program = make_program(self.rng)
        self.memory = FetchMemory(
            config, dut.request, dut.response, self.program.get, self.rng,
            latency=latency, stall=stall,
        )  # fmt: skip
        self.views = [WarpView(self.program.get) for _ in range(config.warps)]
        self.active = 0
        self.cycle = 0
        self.issued = [0] * config.warps
        self.absent = [0] * config.warps  # cycles without a head

    def heads(self, ctx) -> list:
        """Check all heads; return the instructions available per warp, up to two."""
        there = []
        for warp, view in enumerate(self.views):
            shown = [ctx.get(head.as_value()) for head in self.dut.warps[warp].heads]
            valid = [bits & 1 for bits in shown]
            assert valid in ([0], [1], [0, 0], [1, 0], [1, 1])
            for number in range(sum(valid)):
                if not view.sees(shown[number] >> 1, number):
                    visible = decoded_layout(self.config).from_bits(shown[number] >> 1)
                    pytest.fail(f"{self.cycle} {warp}: {visible}, not {view.head(number)}")
            assert self.active >> warp & 1 or not valid[0]
            there.append(sum(valid))
        return there

    async def step(self, ctx, *, take=0, take_slot_1=0, redirect=None):
        """Run one cycle: apply inputs and memory's response, and update the views."""
        dut, memory = self.dut, self.memory
        warp, pc = redirect or (0, self.rng.getrandbits(32))
        for number, instructions in enumerate(dut.warps):
            ctx.set(instructions.take, take >> number & 1)
            ctx.set(instructions.take_slot_1, take_slot_1)
        ctx.set(dut.redirect.valid, redirect is not None)
        ctx.set(dut.redirect.payload, {"warp": warp, "pc": pc})
        awaited = bool(memory.under_way)
        memory.drive(ctx)
        _, _, busy, offered, *seen = await ctx.tick().sample(
            dut.busy, dut.request.valid, *memory.samples
        )
        assert busy == (awaited or offered)
        memory.take(*seen)
        for number, view in enumerate(self.views):
            if take >> number & 1:
                view.take(1 + take_slot_1)
                self.issued[number] += 1 + take_slot_1
        if redirect:
            self.views[warp].redirect(pc & ~3)
        self.cycle += 1

    def activate(self, ctx, active: int):
        """Set the active warps."""
        self.active = active
        ctx.set(self.dut.active, active)


def random_pc(bench) -> int:
    """Return a random next address: near, far, at the end of memory, or beyond it."""
    rng = bench.rng
    place = rng.choice([ENTRY, ENTRY + 0x40, rng.randrange(ENTRY, END), END - 8, END])
    return place & ~3 | rng.choice([0, 4])


async def random_life(ctx, bench, cycles, *, calm):
    """Take, redirect, start and end warps at random; `calm` is the mean of cycles between."""
    rng, warps = bench.rng, bench.config.warps
    # An undisturbed warp gets its instruction after its own wait and that of all other warps.
    patience = (bench.memory.latency[1] + 12) * (warps + 1) * (4 if bench.memory.stall else 1)
    for _ in range(cycles):
        there = bench.heads(ctx)
        for warp, count in enumerate(there):
            waits = bench.active >> warp & 1 and not count
            bench.absent[warp] = bench.absent[warp] + 1 if waits else 0
            assert bench.absent[warp] < patience, f"warp {warp} is starved"
        redirect = None
        if rng.random() < 1 / calm:
            warp = rng.randrange(warps)
            redirect = (warp, random_pc(bench))
            bench.absent[warp] = 0
        if rng.random() < 1 / (2 * calm):
            warp = rng.randrange(warps)
            bench.activate(ctx, bench.active ^ 1 << warp)
            there = bench.heads(ctx)
        willing = [warp for warp, count in enumerate(there) if count and rng.random() < 0.6]
        # Any number of warps may be taken from; a second instruction only if all have it.
        second = bool(willing) and all(there[warp] == 2 for warp in willing) and rng.random() < 0.7
        take = sum(1 << warp for warp in willing)
        await bench.step(ctx, take=take, take_slot_1=int(second), redirect=redirect)


@pytest.mark.parametrize(
    ("fields", "latency", "stall"),
    [
        ({}, (1, 1), 0.0),
        ({}, (1, 9), 0.4),
        ({"instruction_buffer": 2}, (1, 4), 0.0),
        ({"instruction_buffer": 3, "issue_width": 2}, (1, 4), 0.3),
        ({"instruction_buffer": 5}, (2, 20), 0.0),
        ({"instruction_buffer": 8, "issue_width": 2}, (1, 12), 0.1),
        ({"instruction_buffer": 2, "issue_width": 2}, (1, 1), 0.0),
        ({"warps": 1, "threads": 1}, (1, 3), 0.2),
        ({"warps": 8}, (1, 6), 0.2),
    ],
)
@pytest.mark.quick(1)
def test_each_warp_sees_its_instructions_in_order(fields, latency, stall):
    bench = Bench(replace(SMALL, **fields), latency=latency, stall=stall)

    async def run(ctx):
        bench.activate(ctx, (1 << bench.config.warps) - 1)
        await random_life(ctx, bench, 150, calm=3)
        await random_life(ctx, bench, 800, calm=40)

    simulate(bench.dut, run)
    assert sum(bench.issued) > 50


@pytest.mark.slow
@pytest.mark.parametrize("issue_width", [1, 2])
@pytest.mark.parametrize("depth", range(2, 9))
def test_each_warp_sees_its_instructions_for_long(depth, issue_width):
    config = CoreConfig(instruction_buffer=depth, issue_width=issue_width)
    bench = Bench(config, seed=depth, latency=(1, 7), stall=0.1)

    async def run(ctx):
        bench.activate(ctx, 0xFF)
        for calm in (2, 8, 30):
            await random_life(ctx, bench, 700, calm=calm)

    simulate(bench.dut, run)
    assert sum(bench.issued) > 500


async def take_all(ctx, bench, cycles):
    """Take like an issue stage: from one warp per cycle, in turn."""
    turn = 0
    for _ in range(cycles):
        there = bench.heads(ctx)
        most = max(there)
        take = second = 0
        for n in range(bench.config.warps):
            warp = (turn + n) % bench.config.warps
            if there[warp] == most and most:
                take, second, turn = 1 << warp, most - 1, warp + 1
                break
        await bench.step(ctx, take=take, take_slot_1=second)


@pytest.mark.parametrize(
    ("fields", "warps", "latency", "rate"),
    [
        ({}, 1, 1, 1.0),  # 4 instructions in the 4 cycles from a taken one to its successor
        ({"instruction_buffer": 2}, 1, 1, 0.5),
        ({"instruction_buffer": 8}, 1, 5, 1.0),
        ({"instruction_buffer": 8, "issue_width": 2}, 1, 1, 2.0),
        ({}, 8, 1, 1.0),
        ({}, 8, 10, 1.0),
        ({"instruction_buffer": 2}, 8, 4, 1.0),
        ({"issue_width": 2}, 8, 1, 2.0),
        ({"issue_width": 2}, 8, 8, 2.0),
    ],
)
@pytest.mark.quick(1)
def test_rate(fields, warps, latency, rate):
    """Instructions per cycle if every one is taken as soon as possible."""
    config = CoreConfig(warps=warps, threads=1, **fields)
    bench = Bench(config, latency=(latency, latency))
    program = {address: 0x13 for address in range(ENTRY, ENTRY + 0x2000, 4)}
    for view in bench.views:
        view.fetch = program.get
    bench.memory.word = program.get

    async def run(ctx):
        bench.activate(ctx, (1 << warps) - 1)
        await take_all(ctx, bench, 30)
        before = sum(bench.issued)
        await take_all(ctx, bench, 200)
        assert sum(bench.issued) - before >= 0.99 * rate * 200

    simulate(bench.dut, run)


@pytest.mark.parametrize("latency", [1, 3])
def test_latency_of_a_redirect(latency):
    bench = Bench(SMALL, latency=(latency, latency))

    async def wait(ctx, target) -> int:
        """Return the cycles from a redirect to the instruction."""
        await bench.step(ctx, redirect=(0, target))
        waited = 1
        while not bench.heads(ctx)[0]:
            await bench.step(ctx)
            waited += 1
        return waited

    async def run(ctx):
        bench.activate(ctx, 1)
        # A request for the same buffer place is issued in the cycle of the redirect.
        assert await wait(ctx, ENTRY + 0x104) == 2 * latency + 2
        for _ in range(latency + 2):
            await bench.step(ctx)
        assert await wait(ctx, ENTRY + 0x204) == latency + 2

    simulate(bench.dut, run)


@pytest.mark.parametrize("latency", [1, 2, 3])
@pytest.mark.parametrize("start", [ENTRY + 0x100, ENTRY + 0x104])
@pytest.mark.quick(2)
def test_a_loop_loses_no_more_than_its_redirect(start, latency):
    """Instructions fetched after the branch do not delay it: they have arrived at its resolution.

    A loop of 6 instructions whose last is a branch, resolved 4 cycles after it was taken from the
    buffer.
    """
    bench = Bench(CoreConfig(warps=1, threads=1), latency=(latency, latency))
    length, known_after, loops = 6, 4, 8

    async def iterate(ctx) -> int:
        """Run the loop once; return the cycles from the redirect to the next."""
        first, position = bench.cycle, 0
        await bench.step(ctx, redirect=(0, start))
        while position < length:
            there = bench.heads(ctx)[0]
            await bench.step(ctx, take=there)
            position += there
        for _ in range(known_after - 1):
            bench.heads(ctx)
            await bench.step(ctx)
        return bench.cycle - first

    async def run(ctx):
        bench.activate(ctx, 1)
        times = [await iterate(ctx) for _ in range(loops)]
        # Four instructions are taken every n + 3 cycles: 0 cycles are lost with a latency of 1.
        lost = (latency - 1) * (length - 1) // 4
        assert max(times[1:]) <= latency + 2 + length + known_after - 1 + lost

    simulate(bench.dut, run)
