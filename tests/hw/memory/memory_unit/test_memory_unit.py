"""Tests of a core's memory unit: data in request order, instructions unchanged."""

import random
from dataclasses import replace

import pytest
from amaranth.back import rtlil

from spica.hw.config import AxiConfig, CacheConfig, MemoryUnitConfig, SharedMemoryConfig
from spica.hw.emit.emitter import emit
from spica.hw.isa.memory_map import (
    CONSOLE_BASE,
    COUNTER_DUMP,
    DMA_BASE,
    DRAM_BASE,
    DRAM_END,
    MATRIX_BASE,
    SHARED_BASE,
    WINDOW_BYTES,
    cluster_window,
    unit_bases,
)
from spica.hw.isa.operations import AtomicOperation, Port
from spica.hw.memory.memory_unit.line_master import PATIENCE
from spica.hw.memory.memory_unit.memory_unit import MemoryUnit
from spica.hw.presets import PRESETS
from spica.sim.iss.program_bench import small_config
from spica.synth.budgets import too_deep
from spica.synth.measure import measure
from support.memory.memory_unit_bench import MemoryUnitBench, row
from support.memory.memory_unit_models import REFUSED_OFFSET, register_address
from support.slow_cases import pairs

BROKEN = range(DRAM_BASE + 0x4000, DRAM_BASE + 0x5000)
REFUSED = range(DRAM_BASE + 0x123440, DRAM_BASE + 0x123480)


def data_cache(size: int, ways: int, mshrs: int, line_bytes: int = 64) -> CacheConfig:
    """Return a data cache so small that lines evict each other."""
    return CacheConfig(size=size, ways=ways, mshrs=mshrs, line_bytes=line_bytes, prefetch=0)


CODE = CacheConfig(size=1024, mshrs=4, prefetch=3)
CONFIGS = {
    "four": small_config(warps=2, threads=4, l1i=CODE, l1d=data_cache(512, 2, 4)),
    "ports": small_config(
        warps=2, threads=4, shared_ports=2, transactions=4, l1i=CODE, l1d=data_cache(128, 1, 2)
    ),
    "lanes": small_config(
        warps=3,
        threads=4,
        memory_lanes=2,
        transactions=2,
        accesses=4,
        l1i=CODE,
        l1d=data_cache(64, 1, 1, 32),
    ),
    "one": replace(
        small_config(
            warps=1,
            threads=1,
            instruction_buffer=2,
            l1i=CODE,
            l1d=data_cache(64, 2, 3, line_bytes=16),
        ),
        axi=AxiConfig(masters=1, data_width=64),
    ),
    "no registers": replace(small_config(warps=2, threads=4, l1i=CODE), dma=None),
    # The register window does not start at a multiple of its size.
    "units": replace(
        small_config(warps=2, threads=4, l1i=CODE, l1d=data_cache(256, 4, 2, line_bytes=16)),
        units=PRESETS["tiny"].units * 3,
        shared=SharedMemoryConfig(size=8192, banks=2, subbanks=4),
    ),
    "clusters": replace(small_config(warps=2, threads=4, l1i=CODE), clusters=3),
    "late clusters": replace(
        small_config(warps=4, threads=8, accesses=8, memory_lanes=4, l1i=CODE),
        clusters=8,
        dma=None,
        shared=SharedMemoryConfig(size=4096, banks=2, subbanks=4, read_latency=5),
    ),
}


ATOMIC_CONFIGS = {
    name: replace(CONFIGS[name], core=replace(CONFIGS[name].core, atomics=True))
    for name in ("four", "ports", "lanes", "one", "units")
}
OPERATIONS = [one for one in AtomicOperation if one not in (AtomicOperation.LR, AtomicOperation.SC)]


#: Lines on which loads and stores wait for each other.
CONFLICTS = 6
UNITS = (DMA_BASE, MATRIX_BASE)
#: Offsets of registers in a unit; the last ones are refused.
PLACES = (0, 4, 8, 0xC, 0x10, 0x30, REFUSED_OFFSET - 4, REFUSED_OFFSET, 0xFC)


def window_word(rng: random.Random, config) -> int:
    """Return the address of a random word in or near a window."""
    size, window = config.shared.size, cluster_window(rng.randrange(config.clusters))
    words = [*range(4), size // 4 - 1]
    outside = [window + size, cluster_window(1) - 4, cluster_window(config.clusters)]
    return rng.choice([*(window + 4 * rng.choice(words) for _ in range(9)), rng.choice(outside)])


def word_of(rng: random.Random, config) -> int:
    """Return a random word address, mostly from few beats."""
    if config.clusters > 1 and rng.random() < 0.4:
        return window_word(rng, config)
    beat = config.axi.beat_bytes
    choice = rng.random()
    if choice < 0.45:
        return DRAM_BASE + 4 * rng.randrange(6 * beat // 4)
    if choice < 0.6:
        return register_address(
            config, rng.choice(list(unit_bases(len(config.units)))), rng.choice(PLACES)
        )
    if choice < 0.75:
        return SHARED_BASE + 4 * rng.choice([0, 1, 2, 3, 64, config.shared.size // 4 - 1])
    if choice < 0.85:
        return rng.choice([CONSOLE_BASE, CONSOLE_BASE + 60, COUNTER_DUMP, COUNTER_DUMP + 0xFC])
    if choice < 0.95:
        return rng.choice([BROKEN[0], BROKEN[8], DRAM_END - 4, DRAM_BASE + 0x123450])
    window = SHARED_BASE + config.shared.size
    outside = [window, window + DMA_BASE - 4, CONSOLE_BASE - 4, 0x7FFF_FFFC, 0]
    outside += [window + base + 0x100 * max(1, len(config.units)) for base in UNITS]
    return rng.choice(outside)


def atomics(rng: random.Random, config) -> dict:
    """Return the fields of atomics of a request, most of which are, without reservations."""
    if not config.core.atomics:
        return {}
    core = config.core
    is_atomic = int(rng.random() < 0.6)
    return {
        **({"is_store": 0} if is_atomic else {}),
        "atomic": is_atomic,
        "operation": rng.choice(OPERATIONS),
        "owner": rng.getrandbits(core.owner_width),
        "expected": [rng.choice([0, rng.getrandbits(32)]) for _ in range(core.request_lanes)],
    }


def data_requests(rng: random.Random, config, count: int):
    """Yield requests that often share words, with lanes that often share a beat."""
    lanes = config.core.lanes(Port.MEMORY)
    for _ in range(count):
        is_store = rng.randrange(2)
        first = word_of(rng, config)
        together = rng.random() < 0.4
        words = [first + 4 * n if together else word_of(rng, config) for n in range(lanes)]
        window = SHARED_BASE + config.shared.size
        kinds = [
            rng.choice([4, 4, 4, 1, 2] if 0 <= word - window < WINDOW_BYTES else [1, 1, 2, 4])
            for word in words
        ]
        places = [rng.randrange(0, 4, size) for size in kinds]
        yield {
            "is_store": is_store,
            "mask": rng.randrange(1, 1 << lanes),
            "address": [word + place for word, place in zip(words, places, strict=True)],
            "data": [rng.getrandbits(32) for _ in words],
            "strobes": [
                ((1 << size) - 1) << place for size, place in zip(kinds, places, strict=True)
            ],
            **atomics(rng, config),
        }


def conflicts(rng: random.Random, config, count: int):
    """Yield loads and stores of one beat by turns, for `count` lines of one set.

    A store waits for the missing line of the load before it, a load for the write before it.
    """
    lanes, cache = config.core.lanes(Port.MEMORY), config.core.l1d
    for n in range(count):
        address = DRAM_BASE + 0x1000 + n * cache.size
        for is_store in (0, 1, 0, 1, 0):
            data = [rng.getrandbits(32) for _ in range(lanes)]
            yield row(address, lanes, is_store=is_store) | {"data": data}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.full
def test_it_converts(name):
    config = CONFIGS[name]
    rtlil.convert(MemoryUnit(MemoryUnitConfig.of(config, config.clusters)))


@pytest.mark.full
def test_a_path_with_one_master_becomes_verilog():
    config = replace(PRESETS["tiny"], axi=replace(PRESETS["tiny"].axi, masters=1))
    emission = emit(MemoryUnit(MemoryUnitConfig.of(config)), "path")
    assert emission.verilog.count("module ") > 1


def others(bench: MemoryUnitBench, rng: random.Random, cycles: int) -> dict:
    """Return events behind the caches: writes of others, sometimes with a fence."""
    beat = bench.config.axi.beat_bytes

    def write() -> bool:
        for _ in range(3):
            at = DRAM_BASE + rng.choice([rng.randrange(6 * beat), 4 * rng.randrange(6 * beat // 4)])
            bench.change(at, rng.randbytes(rng.choice([1, 4, beat])))
        return rng.random() < 0.1

    return dict.fromkeys(sorted(rng.sample(range(1, cycles), cycles // 4)), write)


@pytest.mark.parametrize(("name", "stall"), pairs(CONFIGS, [0.3, 0.0]))
@pytest.mark.quick(1)
def test_data_is_as_if_requests_were_carried_out_in_order(name, stall):
    config, rng = CONFIGS[name], random.Random(f"{name} {stall}")
    jitter = 20 if stall else 0
    bench = MemoryUnitBench(config, rng, stall=stall, jitter=jitter, broken=BROKEN, refused=REFUSED)
    requests = [*data_requests(rng, config, 150), *conflicts(rng, config, CONFLICTS)]
    bench.run(requests, fences=others(bench, rng, 300))
    assert bench.memory.dram == bench.golden.dram
    assert bench.memory.shared == bench.golden.shared
    assert bench.memory.windows == bench.golden.windows
    assert len(bench.memory.windows) == (config.clusters if config.clusters > 1 else 0)
    assert bench.memory.console == bench.golden.console
    assert bench.registers.log == bench.golden_registers.log
    assert len(bench.registers.log) > 8 or config.dma is None
    kinds = {word is None for answer in bench.answers for word in answer.expected}
    assert kinds == {True, False}
    lines = [burst for bus in bench.buses for burst in bus.bursts_read]
    assert len(lines) == bench.events["data.misses"]
    assert 10 < len(lines) < bench.events["data.reads"]
    for name in ("order", "bank"):
        assert bench.events[f"data.{name}_waits"] >= CONFLICTS, name


@pytest.mark.parametrize("stall", [0.0, 0.3])
@pytest.mark.parametrize("name", ATOMIC_CONFIGS)
@pytest.mark.quick("four-0.3", "ports-0.0")
def test_atomics_take_effect_in_the_order_of_requests(name, stall):
    """Among loads and stores to the same words, in DRAM and in shared memory, and by other masters.

    At units, at the console and through windows they are refused.
    """
    config, rng = ATOMIC_CONFIGS[name], random.Random(f"{name} {stall}")
    jitter = 20 if stall else 0
    bench = MemoryUnitBench(config, rng, stall=stall, jitter=jitter, broken=BROKEN, refused=REFUSED)
    bench.run(list(data_requests(rng, config, 200)), fences=others(bench, rng, 300))
    assert bench.memory.dram == bench.golden.dram
    assert bench.memory.shared == bench.golden.shared
    assert bench.memory.console == bench.golden.console
    assert bench.registers.log == bench.golden_registers.log
    kinds = {word is None for answer in bench.answers for word in answer.expected}
    assert kinds == {True, False}


@pytest.mark.full
def test_without_others_every_load_has_one_value():
    config, rng = CONFIGS["four"], random.Random(7)
    bench = MemoryUnitBench(config, rng, stall=0.2, jitter=20, broken=BROKEN)
    bench.run(list(data_requests(rng, config, 200)))
    loads = [may_be for answer in bench.answers for _, may_be in answer.may_be.values()]
    assert len(loads) > 50
    assert all(len(values) == 1 for may_be in loads for values in may_be)


def fetches(rng: random.Random, config, count: int):
    """Yield fetches that mostly continue their warp's last one."""
    core = config.core
    pairs = 1 << max(0, (core.instruction_buffer - 1).bit_length() - 1)
    places = [DRAM_BASE + 64 * warp for warp in range(core.warps)]
    for _ in range(count):
        warp = rng.randrange(core.warps)
        choice = rng.random()
        if choice < 0.2:
            places[warp] = DRAM_BASE + 8 * rng.randrange(64)
        elif choice < 0.25:
            places[warp] = rng.choice([BROKEN[0], SHARED_BASE, 0x1000])
        else:
            places[warp] += 8
        pair = places[warp] // 8 % pairs
        yield {"address": places[warp], "tag": {"warp": warp, "pair": pair}}


@pytest.mark.parametrize(("name", "stall"), pairs(CONFIGS, [0.0, 0.3]))
@pytest.mark.quick(1)
def test_instructions_are_those_of_the_last_invalidation_or_later(name, stall):
    config, rng = CONFIGS[name], random.Random(f"{name} {stall}")
    bench = MemoryUnitBench(config, rng, stall=stall, jitter=12 if stall else 0, broken=BROKEN)
    versions: list[tuple[int, bytes]] = []

    def change():
        image = rng.randbytes(0x400)
        bench.write(DRAM_BASE, image)
        versions.append((bench.cycle, image))

    change()
    events = dict.fromkeys(rng.sample(range(1, 800), 60), change)
    bench.run(fetches=list(fetches(rng, config, 250)), events=events)
    assert len(bench.fetched) == 250
    hits = 0
    for request, accepted, answered, data in bench.fetched:
        at = request["address"] - DRAM_BASE
        hits += answered == accepted + 1
        if not 0 <= at < 0x400:
            assert data == (0 if 0 <= at < 0x4000 else -1)
            continue
        # Any version since the last change before acceptance is valid.
        since = max(cycle for cycle, _ in versions if cycle < accepted or cycle == 0)
        known = [image for cycle, image in versions if since <= cycle <= answered]
        assert data in [int.from_bytes(image[at : at + 8], "little") for image in known]
    assert hits > 10


@pytest.mark.full
def test_sides_do_not_disturb_each_other():
    config, rng = CONFIGS["four"], random.Random(3)
    bench = MemoryUnitBench(config, rng, stall=0.2, jitter=20, broken=BROKEN)
    code = rng.randbytes(0x400)
    bench.write(DRAM_BASE + 0x8000, code)
    fetch_requests = [
        {**fetch, "address": fetch["address"] + 0x8000}
        for fetch in fetches(rng, config, 200)
        if 0 <= fetch["address"] - DRAM_BASE < 0x400
    ]
    bench.run(list(data_requests(rng, config, 200)), fetch_requests)
    assert bench.memory.dram == bench.golden.dram
    for request, _, _, data in bench.fetched:
        at = request["address"] - DRAM_BASE - 0x8000
        assert data == int.from_bytes(code[at : at + 8], "little")


FOUR = CONFIGS["four"]
LINE = FOUR.core.l1d.line_bytes


def waits(*requests) -> list[list[int]]:
    """Return the cycles from each request to its responses, with fast memory, else idle."""
    bench = MemoryUnitBench(FOUR, random.Random(1))
    bench.run(requests)
    return [[cycle - answer.accepted for cycle in answer.cycles] for answer in bench.answers]


def test_latency_of_data_is_as_stated():
    # The bench's memory answers in the cycle after an address or a beat.
    miss, pauses = 4 + 1 + 2, [None] * 30
    # A beat that waits in vain for the rest of its line; a long queue adds a cycle.
    store = 3 + 2 * PATIENCE + 2 + 2 + (FOUR.core.transactions > 16)
    requests, cycles = [], []
    for base in (DRAM_BASE, DRAM_BASE + 5 * LINE):  # one of each master
        far, together, apart = base + 4096, row(base, 4), row(base, 4, step=FOUR.axi.beat_bytes)
        for request, expected in (
            (together, [miss]),
            (together, [2]),
            (apart, [2, 3, 4, 5]),
            (row(base, 4, is_store=1), [store]),
            (together, [2]),
            (row(far, 4, is_store=1), [store]),
            (row(far, 4, step=FOUR.axi.beat_bytes), [miss, miss + 1, miss + 2, miss + 3]),
        ):
            requests += [request, *pauses]
            cycles.append(expected)
    assert waits(*requests) == cycles


def test_latency_of_the_rest_is_as_stated():
    assert waits(row(SHARED_BASE, 4), *[None] * 9, row(CONSOLE_BASE - 4, 4)) == [[4], [2]]
    bench = MemoryUnitBench(FOUR, random.Random(1))
    tag = {"warp": 0, "pair": 0}
    bench.run(fetches=[{"address": DRAM_BASE, "tag": tag}, {"address": DRAM_BASE + 8, "tag": tag}])
    cycles = [answered - accepted for _, accepted, answered, _ in bench.fetched]
    assert cycles == [9, 1]  # four beats are a line
    assert bench.events["instructions.fetches"] == 2
    assert bench.events["instructions.fetch_misses"] == 1
    lines = [burst for bus in bench.buses for burst in bus.bursts_read]
    assert bench.events["instructions.lines_fetched"] == len(lines) > 1  # some are prefetched


def pace(*requests, of: int, config=FOUR) -> int:
    """Return the cycles between the first and the last request's final responses."""
    bench = MemoryUnitBench(config, random.Random(1))
    bench.run(requests)
    first, *_, last = (answer.cycles[-1] for answer in bench.answers[-of:])
    return last - first


def test_rows_that_are_there_follow_each_other():
    beats, pauses = range(DRAM_BASE, DRAM_BASE + 512, 16), [None] * 300
    there = [row(beat, 4) for beat in beats]
    assert pace(*there, *pauses, *there, of=32) == 31
    assert pace(*(row(SHARED_BASE + 16 * n, 4) for n in range(40)), of=40) == 39


@pytest.mark.parametrize("step", [0, 16])
def test_stores_follow_each_other(step):
    stores = [row(DRAM_BASE + step * n, 4, is_store=1) for n in range(40)]
    assert pace(*stores, of=40) == 39


@pytest.mark.full
def test_lines_are_read_together():
    """As many as there are MSHRs: each takes no longer than its beats, from two masters."""
    core = replace(FOUR.core, l1d=data_cache(2048, 2, 8))
    loads = [row(DRAM_BASE + LINE * n, 4) for n in range(24)]
    assert pace(*loads, of=24, config=replace(FOUR, core=core)) <= 24 * 4


def test_what_others_write_is_seen_after_a_fence():
    words = [bytes([n] * 4) for n in range(1, 4)]
    bench = MemoryUnitBench(FOUR, random.Random(1))
    load, pauses = row(DRAM_BASE, 4, step=0), [None] * 40
    bench.write(DRAM_BASE, words[0])
    fences = {
        40: lambda: bench.change(DRAM_BASE, words[1]) and False,  # without a fence
        70: lambda: bench.change(DRAM_BASE, words[2]),
    }
    bench.run([load, *pauses, load, *pauses, load], fences=fences)
    assert [answer.words[0].to_bytes(4, "little") for answer in bench.answers] == [
        words[0],
        words[0],
        words[2],
    ]
    assert bench.events["data.misses"] == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"prefetch": 2}, "l1d.prefetch must be 0, as data is not prefetched, not 2"),
        (
            {"line_bytes": 128, "prefetch": 0},
            "core.l1d.line_bytes must be between a beat and the longest burst, 16 and 64, not 128",
        ),
    ],
)
def test_a_cache_of_data_that_cannot_be_is_refused(line, message):
    with pytest.raises(ValueError, match=message):
        small_config(l1d=CacheConfig(**line))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four", "ports", "units", "virgo"])
def test_depth_is_within_budget(name):
    measured = measure(MemoryUnit(MemoryUnitConfig.of((CONFIGS | PRESETS)[name])), name)
    assert too_deep(measured) == {}
