"""Tests of `hw.core.operands.register_file`: values, order, cycles of conflicts, cost."""

import random
from functools import partial
from itertools import product

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.operands.register_file import RegisterFile
from spica.hw.core.operands.register_map import RegisterMap
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.operands.register_file import Access, bank_of, cycles_of
from support.core.register_file_bench import Traffic

DEFAULT = CoreConfig()
TEXTBOOK = CoreConfig(warps=2, threads=32, banks=16, bank_mapping="thread", collectors=2)
SHAPES = {
    "wide": {"warps": 2, "threads": 2, "banks": 4, "collectors": 3},
    "wide, by age": {
        "warps": 3,
        "threads": 3,
        "banks": 2,
        "collectors": 4,
        "writeback_buses": 4,
        "bank_arbiter": "age",
    },
    "one of each": {
        "warps": 1,
        "threads": 1,
        "banks": 1,
        "collectors": 1,
        "writeback_buses": 1,
    },
    "one thread, many banks": {
        "warps": 1,
        "threads": 1,
        "banks": 16,
        "collectors": 2,
        "writeback_buses": 1,
        "bank_mapping": "thread",
    },
    "fewer threads than banks": {
        "warps": 2,
        "threads": 3,
        "banks": 8,
        "collectors": 4,
        "writeback_buses": 3,
        "bank_mapping": "thread",
    },
    "two parts": {
        "warps": 2,
        "threads": 8,
        "banks": 4,
        "collectors": 3,
        "bank_mapping": "thread",
        "bank_arbiter": "age",
    },
    "a part that is not full": {
        "warps": 3,
        "threads": 7,
        "banks": 4,
        "collectors": 3,
        "bank_mapping": "thread",
    },
    "one bank of a word": {
        "warps": 2,
        "threads": 5,
        "banks": 1,
        "collectors": 2,
        "bank_mapping": "thread",
        "bank_arbiter": "age",
    },
}


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(1, "wide, by age-0.5")
def test_random_accesses(shape, stall):
    config = CoreConfig(**SHAPES[shape])
    traffic = Traffic(config, random.Random(f"{shape} {stall}"), stall)
    require_no_loop(traffic.dut)
    simulate(traffic.dut, partial(traffic.run, cycles=150))
    assert traffic.accesses >= 40
    assert (traffic.read_conflicts > 0) == (config.collectors > 1)


@pytest.mark.parametrize("config", [DEFAULT, TEXTBOOK], ids=["default", "textbook"])
@pytest.mark.full
def test_random_accesses_at_full_size(config):
    traffic = Traffic(config, random.Random(1), 0.1)
    simulate(traffic.dut, partial(traffic.run, cycles=50))
    assert traffic.accesses > 50


@pytest.mark.slow
@pytest.mark.parametrize("mapping", ["warp", "thread"])
def test_random_accesses_at_the_largest_size(mapping):
    config = CoreConfig(
        warps=32, threads=32, banks=32, bank_mapping=mapping, collectors=2, writeback_buses=2
    )
    traffic = Traffic(config, random.Random(1), 0.1)
    simulate(traffic.dut, partial(traffic.run, cycles=30))
    assert traffic.accesses > 40


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_long_traffic(seed):
    rng = random.Random(seed)
    config = CoreConfig(
        warps=rng.randint(1, 32),
        threads=rng.randint(1, 32),
        banks=1 << rng.randint(0, 5),
        bank_mapping=("warp", "thread")[seed % 2],
        bank_arbiter=rng.choice(["round_robin", "age"]),
        collectors=rng.randint(1, 8),
        writeback_buses=rng.randint(1, 4),
    )
    traffic = Traffic(config, rng, rng.choice([0.0, 0.3]))
    simulate(traffic.dut, partial(traffic.run, cycles=200))


async def cycles_of_batch(ctx, dut, accesses):
    """Start one read per collector at once; return the cycle in which each is accepted."""
    requests = [dut.request[number] for number in range(len(accesses))]
    for request, access in zip(requests, accesses, strict=True):
        ctx.set(
            request.payload,
            {"warp": access.warp, "register": access.register, "mask": access.mask},
        )
        ctx.set(request.valid, 1)
    ends = [0] * len(accesses)
    cycle = 0
    while 0 in ends:
        _, _, *ready = await ctx.tick().sample(*[request.ready for request in requests])
        cycle += 1
        for number, request in enumerate(requests):
            if ready[number] and not ends[number]:
                ends[number] = cycle
                ctx.set(request.valid, 0)
    return ends


def count_batches(config, batches):
    """Check that each batch takes the cycles of the mapping; return them."""
    dut = require_no_loop(RegisterFile(config))
    batch_cycles = []

    async def bench(ctx):
        for batch in batches:
            batch_cycles.append(max(await cycles_of_batch(ctx, dut, batch)))
            assert batch_cycles[-1] == cycles_of(config, batch)

    simulate(dut, bench)
    return batch_cycles


def pairs(config, registers):
    """Return a read by one warp and one by another, for all pairs of registers."""
    full = (1 << config.threads) - 1
    other = config.warps - 1
    for first, second in product(registers, registers):
        yield [Access(0, first, full), Access(other, second, full)]


#: Fields of a core of two warps, registers, and the number of pairs that take some cycles. Wide
#: banks take two cycles if ``(warp + register) mod banks`` is equal, else one.
PAIRS = [
    ({"threads": 1, "banks": 8}, 16, {1: 224, 2: 32}),
    ({"threads": 4, "banks": 4, "bank_mapping": "thread"}, 16, {2: 256}),
    # 3 of 8 differences overlap.
    ({"threads": 2, "banks": 8, "bank_mapping": "thread"}, 16, {1: 160, 2: 96}),
    ({"threads": 3, "banks": 2, "bank_mapping": "thread"}, 16, {3: 128, 4: 128}),
    ({"threads": 1, "banks": 1, "bank_mapping": "thread"}, 16, {2: 256}),
    ({"threads": 1, "banks": 8}, 64, {1: 64 * 56, 2: 64 * 8}),
    # Half a turn apart, none overlap.
    ({"threads": 4, "banks": 8, "bank_mapping": "thread"}, 64, {1: 64 * 8, 2: 64 * 56}),
]


@pytest.mark.parametrize("arbiter", ["round_robin", "age"])
@pytest.mark.parametrize(
    ("fields", "registers", "cycles"),
    [pytest.param(*row, marks=[pytest.mark.slow] * (row[1] == 64)) for row in PAIRS],
)
@pytest.mark.quick(2)
def test_conflicts_of_all_pairs(fields, registers, cycles, arbiter):
    config = CoreConfig(warps=2, bank_arbiter=arbiter, collectors=2, writeback_buses=1, **fields)
    batch_cycles = count_batches(config, pairs(config, range(registers)))
    assert {number: batch_cycles.count(number) for number in set(batch_cycles)} == cycles


@pytest.mark.full
def test_textbook_operands_take_two_cycles_each():
    full = (1 << 32) - 1
    singles = [[Access(register % 2, register, full)] for register in range(64)]
    couples = random.Random(1).sample(list(pairs(TEXTBOOK, range(64))), 20)
    # Threads outside the mask take no time.
    masks = [0x0000_FFFF, 0x0001_0001, 0x00FF_FF00, 0x8000_0000]
    masked = [[Access(0, 5, mask)] for mask in masks]
    batch_cycles = count_batches(TEXTBOOK, [*singles, *couples, *masked])
    assert batch_cycles == [*[2] * 64, *[4] * 20, 1, 2, 1, 1]


@pytest.mark.parametrize(
    ("config", "cycles"), [(DEFAULT, 3), (TEXTBOOK, 6)], ids=["default", "textbook"]
)
@pytest.mark.full
def test_three_operands_of_one_collector(config, cycles):
    """Operands of an FMA are read one after the other; responses start after the first."""
    dut = require_no_loop(RegisterFile(config))
    full = (1 << config.threads) - 1
    seen = []

    async def bench(ctx):
        ctx.set(dut.request[0].valid, 1)
        operands = [33, 49, 40]
        cycle = 0
        while operands:
            ctx.set(dut.request[0].payload, {"warp": 3, "register": operands[0], "mask": full})
            _, _, ready, valid = await ctx.tick().sample(dut.request[0].ready, dut.data[0].valid)
            seen.append(valid)
            operands = operands[1:] if ready else operands
            cycle += 1
        assert cycle == cycles
        ctx.set(dut.request[0].valid, 0)
        for _ in range(2):
            seen.append((await ctx.tick().sample(dut.data[0].valid))[2])

    simulate(dut, bench)
    assert seen == [0, *[1] * cycles, 0]


@pytest.mark.parametrize(
    ("arbiter", "expected"),
    [("age", {2: 3, 0: 7, 1: 11}), ("round_robin", {2: 9, 0: 10, 1: 11})],
)
def test_who_goes_first_at_a_bank(arbiter, expected):
    """Collector 2 has the bank alone; then 0 and 1 arrive: one after the other, or in turns."""
    config = CoreConfig(
        warps=1,
        threads=4,
        banks=1,
        collectors=3,
        bank_mapping="thread",
        bank_arbiter=arbiter,
    )
    dut = require_no_loop(RegisterFile(config))
    ends = {}

    async def bench(ctx):
        for cycle in range(20):
            for number, start in ((2, 0), (0, 1), (1, 1)):
                request = dut.request[number]
                if cycle == start:
                    ctx.set(request.payload, {"warp": 0, "register": number + 1, "mask": ~0})
                    ctx.set(request.valid, 1)
            _, _, *ready = await ctx.tick().sample(*[request.ready for request in dut.request])
            for number, request in enumerate(dut.request):
                if ready[number]:
                    ends[number] = cycle
                    ctx.set(request.valid, 0)

    simulate(dut, bench)
    assert ends == expected


@pytest.mark.parametrize("mapping", ["warp", "thread"])
def test_rows_hold_every_register_once(mapping):
    """The banks have exactly one word for each register of each thread."""
    for warps, threads, banks in product((1, 2, 8), (1, 3, 4, 8, 32), (1, 2, 16, 32)):
        config = CoreConfig(warps=warps, threads=threads, banks=banks, bank_mapping=mapping)
        sizes = RegisterMap(config)
        assert sizes.depth * sizes.words * banks == 64 * warps * threads
    assert bank_of(TEXTBOOK, 3, 5, 16) == 5
    assert bank_of(DEFAULT, 3, 6, 5) == 1
