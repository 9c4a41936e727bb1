"""Tests of the instruction cache: what it promises under random requests, and its latencies."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import AxiConfig, CacheConfig, CoreConfig, MachineConfig, MemoryUnitConfig
from spica.hw.isa.memory_map import DRAM_BASE, DRAM_END
from spica.hw.memory.l1.cluster_layouts import instruction_cache_events, instruction_mshr_config
from spica.hw.memory.l1.instruction_cache import InstructionCache
from spica.hw.presets import PRESETS
from spica.sim.harness.dram import DramConfig
from spica.sim.iss.program_bench import END, START
from spica.sim.machine.command_machine import CommandMachine
from spica.synth.budgets import too_deep
from spica.synth.measure import measure
from support.cluster.host_run import run_program
from support.memory.instruction_cache_bench import CacheBench

CELLS = 800
#: The first half of a line.
BROKEN = range(DRAM_BASE + 0x8000, DRAM_BASE + 0x8020)


def config_of(cache: CacheConfig, *, width: int = 128, masters: int = 2, **core) -> MachineConfig:
    """Return a cluster whose core has this cache."""
    core = {"warps": 2, "threads": 4} | core
    return replace(
        PRESETS["core"],
        core=CoreConfig(l1i=cache, **core),
        axi=AxiConfig(masters=masters, data_width=width),
    )


CONFIGS = {
    "small": config_of(CacheConfig(size=1024, mshrs=4, prefetch=3)),
    "direct": config_of(CacheConfig(size=256, ways=1, mshrs=3, prefetch=1), warps=3),
    "ways": config_of(CacheConfig(size=1024, ways=8, mshrs=6, prefetch=2), width=256, warps=5),
    "beat": config_of(CacheConfig(size=256, ways=4, line_bytes=16, mshrs=5, prefetch=4)),
    "one": config_of(
        CacheConfig(size=16, ways=1, line_bytes=8, mshrs=1, prefetch=0),
        width=64, masters=1, warps=1, threads=1, instruction_buffer=2,
    ),
    "core": config_of(CacheConfig(), width=256, warps=8, threads=8, instruction_buffer=8),
}  # fmt: skip


def pairs_of(rng: random.Random, config, count: int):
    """Yield pairs that mostly continue their warp's last one; some are outside memory."""
    waiters = instruction_mshr_config(MemoryUnitConfig.of(config)).waiters
    share = waiters // config.core.warps
    places = [DRAM_BASE] * config.core.warps
    for _ in range(count):
        warp = rng.randrange(config.core.warps)
        choice = rng.random()
        if choice < 0.1:
            places[warp] = DRAM_BASE + 8 * rng.randrange(512)
        elif choice < 0.13:
            near = [BROKEN[0] - 64, DRAM_END - 16, DRAM_END, DRAM_BASE - 8, 0, 0xFFFF_FFF8]
            places[warp] = rng.choice(near)
        elif choice < 0.2:
            places[warp] = places[rng.randrange(len(places))]
        yield warp * share + places[warp] // 8 % share, places[warp]
        places[warp] = (places[warp] + 8) % (1 << 32)


@pytest.mark.parametrize("latency, jitter, stall", [(2, 0, 0.0), (30, 0, 0.0), (5, 40, 0.3)])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(1)
def test_it_keeps_its_promises(name, latency, jitter, stall):
    config, rng = CONFIGS[name], random.Random(f"{name} {latency} {stall}")
    bench = CacheBench(config, rng, broken=BROKEN, latency=latency, jitter=jitter, stall=stall)
    invalidations = set(rng.sample(range(1, 2000), 8))
    bench.run(list(pairs_of(rng, config, 250)), invalidations=invalidations)
    assert len(bench.latencies) == 250
    assert name == "one" or bench.latencies.count(1) > 30


def test_seldom_things_happen_at_random():
    """A stream that never meets full MSHRs or another stream's line would prove little."""
    config, rng = CONFIGS["direct"], random.Random(5)
    bench = CacheBench(config, rng, broken=BROKEN, latency=8, jitter=20)
    bench.run(list(pairs_of(rng, config, 400)), invalidations=set(range(100, 2000, 150)))
    assert bench.seen.keys() == {"joined", "invalidated in flight", "errors", "several lines"}
    assert min(bench.seen.values()) > 5
    assert bench.events.keys() == instruction_cache_events().members.keys()
    assert min(bench.events.values()) > 20


def test_a_stream_that_goes_back_while_it_is_read_ahead():
    config, rng = CONFIGS["small"], random.Random(2)
    bench = CacheBench(config, rng, latency=12)
    places = [DRAM_BASE + 64 * rng.randrange(8) for _ in range(250)]
    invalidations = set(range(40, 8000, 97))
    bench.run([(n % 4, at) for n, at in enumerate(places)], invalidations=invalidations)
    assert len(bench.latencies) == 250


def straight(config, pairs: int, *, warps: int = 1, start: int = DRAM_BASE):
    """Return consecutive pairs, for this many warps in turn."""
    share = instruction_mshr_config(MemoryUnitConfig.of(config)).waiters // config.core.warps
    return [
        (warp * share + n % share, start + 8 * n) for n in range(pairs) for warp in range(warps)
    ]


def sweep(config) -> list[None]:
    """Return pauses until the tags have been cleared after reset."""
    return [None] * (config.core.l1i.sets + 2)


def test_latency_is_as_stated():
    config = replace_cache(CONFIGS["core"], prefetch=0)
    bench = CacheBench(config, random.Random(1), latency=20)
    # A line of two beats: requested after 2 cycles, read in 20 and 1, answered after 2 more.
    bench.run([*sweep(config), *straight(config, 4)])
    assert bench.latencies == [2 + 20 + 1 + 2, 25, 25, 25]
    bench = CacheBench(config, random.Random(1), latency=20)
    bench.run([*sweep(config), (0, DRAM_BASE), *[None] * 60, *straight(config, 8), (0, DRAM_END)])
    assert bench.latencies == [25, *[1] * 9]


@pytest.mark.full
def test_pairs_that_are_there_follow_each_other():
    """As many cycles as pairs, of all warps, in a loop of 4 KB that ran once before."""
    config = CONFIGS["core"]
    loop = straight(config, 512)
    bench = CacheBench(config, random.Random(1), latency=100)
    bench.run([*sweep(config), *loop, *[None] * 150, *loop])  # prefetched lines arrive
    assert bench.latencies[512:] == [1] * 512
    assert bench.cycles[-1] - bench.cycles[512] == 511
    assert len(bench.reads) <= 64 + config.core.l1i.prefetch


@pytest.mark.parametrize("warps", [1, 8])
@pytest.mark.full
def test_straight_code_that_was_never_read_flows(warps):
    config, pairs = CONFIGS["core"], 512 if warps == 1 else 128
    bench = CacheBench(config, random.Random(1), latency=100)
    bench.run([*sweep(config), *straight(config, pairs, warps=warps)])
    instructions = 2 * pairs * warps / (bench.cycle - config.core.l1i.sets)
    assert instructions > (0.75 if warps == 1 else 1.5)
    assert len(bench.reads) <= pairs // 8 + config.core.l1i.prefetch


def test_misses_of_warps_are_under_way_together():
    config = CONFIGS["core"]
    share = instruction_mshr_config(MemoryUnitConfig.of(config)).waiters // config.core.warps
    far = [(share * warp, DRAM_BASE + 0x1040 * warp) for warp in range(8)]
    bench = CacheBench(replace_cache(config, prefetch=0), random.Random(1), latency=100)
    bench.run([*sweep(config), *far])
    assert max(bench.latencies) < 100 + 8 * 2 + 5
    # All request the same line, which is read once.
    bench = CacheBench(config, random.Random(1), latency=100)
    bench.run([*sweep(config), *((waiter, DRAM_BASE) for waiter, _ in far)])
    assert bench.reads.count(DRAM_BASE) == 1
    assert len(bench.reads) == 1 + config.core.l1i.prefetch


def test_waits_for_an_entry_and_for_memories_are_counted():
    config = replace_cache(CONFIGS["core"], prefetch=0, mshrs=2)
    bench = CacheBench(config, random.Random(1), latency=100)
    bench.run([(0, DRAM_BASE)])
    assert bench.events["bank_waits"] == config.core.l1i.sets  # the tags are cleared after reset
    bench = CacheBench(config, random.Random(1), latency=100)
    bench.run([*sweep(config), *((4 * n, DRAM_BASE + 0x1040 * n) for n in range(3))])
    # The third is looked up in each cycle until the first is answered.
    assert bench.latencies[:2] == [2 + 100 + 1 + 2, 106]
    assert bench.events["entry_waits"] in range(100, 103)
    assert bench.events["bank_waits"] == 0
    bench = CacheBench(config, random.Random(1), latency=100)
    bench.run([*sweep(config), (0, DRAM_BASE), *[None] * 120, *straight(config, 8)])
    assert bench.events["bank_waits"] == bench.events["entry_waits"] == 0
    # While hits are requested, two beats arrive and seven requests are answered.
    bench, far = CacheBench(config, random.Random(1), latency=10), DRAM_BASE + 0x1040
    hits = [(28 + n % 4, DRAM_BASE + 8 * (n % 8)) for n in range(40)]
    misses = [(4 * n, far) for n in range(7)]
    bench.run([*sweep(config), (28, DRAM_BASE), *[None] * 40, *misses, *hits])
    assert bench.events["bank_waits"] == 2 + 7


def replace_cache(config: MachineConfig, **fields) -> MachineConfig:
    """Return the cluster with a different cache."""
    core = replace(config.core, l1i=replace(config.core.l1i, **fields))
    return replace(config, core=core)


def test_code_as_large_as_the_cache_stays():
    config = replace_cache(CONFIGS["small"], prefetch=0)
    whole = straight(config, 128)
    bench = CacheBench(config, random.Random(1))
    bench.run([*sweep(config), *whole, *whole])
    assert len(bench.reads) == 16


def test_errors_are_not_kept_and_are_of_a_beat():
    config = replace_cache(CONFIGS["small"], prefetch=0)
    line = BROKEN[0] & ~63
    requested = [(0, line), (1, line + 40), *[None] * 30, (0, line + 56), (1, BROKEN[0])]
    bench = CacheBench(config, random.Random(1), broken=BROKEN)
    bench.run([*sweep(config), *requested])
    assert bench.reads == [line, line]


def test_after_an_invalidation_all_is_read_anew():
    config = replace_cache(CONFIGS["small"], prefetch=0)
    bench = CacheBench(config, random.Random(1))
    sets = config.core.l1i.sets
    requested = [(0, DRAM_BASE), *[None] * 30, (0, DRAM_BASE), (0, DRAM_BASE)]
    bench.run([*sweep(config), *requested], invalidations={sets + 34})
    assert bench.reads == [DRAM_BASE] * 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": 3000}, "size must be a power of two, not 3000"),
        ({"ways": 16}, "ways must be between 1 and 8, not 16"),
        ({"line_bytes": 4}, "line_bytes must be between 8 and 256, not 4"),
        ({"mshrs": 0}, "mshrs must be between 1 and 16, not 0"),
        ({"prefetch": 8}, "prefetch must be between 0 and 7, not 8"),
        ({"size": 128}, "size must give each way 2 lines or more: 2 ways x 64 bytes x 2 = 256"),
        ({"size": 1024}, "prefetch must be at most a quarter of 16 lines, not 6"),
    ],
)
def test_what_no_cache_can_be_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        CacheConfig(**fields)


@pytest.mark.parametrize(("line", "width"), [(128, 128), (16, 256)])
def test_a_line_is_of_whole_beats_of_one_burst(line, width):
    message = f"line_bytes must be between a beat and the longest burst, {width // 8} and 64"
    with pytest.raises(ValueError, match=message):
        config_of(CacheConfig(line_bytes=line), width=width)


@pytest.mark.full
def test_cells_and_depth_are_within_budget():
    measured = measure(InstructionCache(MemoryUnitConfig.of(PRESETS["virgo"])), "cache")
    assert measured.cells <= CELLS
    assert too_deep(measured) == {}


@pytest.fixture(scope="module")
def machine():
    """Return a cluster of one core and DRAM of 100 cycles."""
    config = replace(PRESETS["core"], core=CoreConfig(warps=8, threads=2))
    with CommandMachine(
        config, name="icache", optimize=1, memory=DramConfig(latency=100)
    ) as machine:
        yield machine


def cycles(machine, start: str, body: str) -> int:
    """Return the cycles of a program, started as given by `start`."""
    machine.reset()
    run = run_program(machine, f"{start}\n{body}\n{END}", 1 << 16, max_cycles=100_000)
    return run.execution.cycles


def additions(count: int) -> str:
    """Return independent instructions."""
    return "\n".join(f"addi x{5 + n % 4}, x{5 + n % 4}, 1" for n in range(count))


@pytest.mark.slow
@pytest.mark.parametrize(("start", "warps", "least"), [("", 1, 0.85), (START, 8, 0.99)])
def test_a_core_runs_straight_code_that_was_never_read(machine, start, warps, least):
    few, many = (cycles(machine, start, additions(count)) for count in (1024, 3072))
    assert warps * 2048 / (many - few) > least


@pytest.mark.slow
@pytest.mark.parametrize(("start", "warps"), [("", 1), (START, 8)])
def test_a_core_runs_a_loop_of_4_kb(machine, start, warps):
    few, many = (
        cycles(
            machine,
            start,
            f"li x9, {times}\nagain:\n{additions(1021)}\naddi x9, x9, -1\nbeqz x9, out\n"
            "j again\nout:",
        )
        for times in (2, 4)
    )
    assert warps * 2 * 1024 / (many - few) > 0.98
