"""A slice of the L2 cache: one order of all writes for everybody, and as fast as it says."""

import random

import pytest
from amaranth.back import rtlil

from spica.hw.config.l2 import L2Config
from spica.hw.memory.l2_layouts import L2SliceConfig
from spica.hw.memory.l2_slice import L2Slice
from spica.sim.l2_bench import Burst, L2Bench
from spica.synth.budgets import too_deep
from spica.synth.measure import measure

#: Word-level cells at its default: 64 reads that wait are 5,824 of them.
CELLS = 8_500
#: An id of the DMA, whose misses pass, and two of cores.
DMA, CORE, OTHER = 0, 0x20, 0x41


def config_of(l2: L2Config, **place) -> L2SliceConfig:
    """Return a slice that has all addresses."""
    return L2SliceConfig(l2=l2, **{"masters": 1, **place})


SMALL = config_of(L2Config(size=512, ways=2, misses=4, write_backs=4))
CONFIGS = {
    "small": SMALL,
    "direct": config_of(
        L2Config(size=128, ways=1, line_bytes=16, misses=2, write_backs=2), data_width=64
    ),
    "ways": config_of(
        L2Config(size=256, ways=8, line_bytes=16, misses=8, write_backs=4), data_width=32
    ),
    "beat": config_of(
        L2Config(size=64, ways=2, line_bytes=8, misses=4, write_backs=8), data_width=64
    ),
}


def full(config: L2SliceConfig) -> int:
    """Return the strobes of a whole beat."""
    return (1 << config.beat_bytes) - 1


def reads(bench: L2Bench, identity: int, lines, beats: int | None = None) -> list[Burst]:
    """Return a read of each line."""
    count = bench.config.beats if beats is None else beats
    size = bench.config.l2.line_bytes
    return [Burst(identity, bench.base + size * line, count) for line in lines]


def writes(bench: L2Bench, identity: int, lines, strobes: int | None = None) -> list[Burst]:
    """Return a write of each line: all of it, or the same bytes of each beat."""
    bursts = reads(bench, identity, lines)
    mask = full(bench.config) if strobes is None else strobes
    for burst in bursts:
        values = [bench.rng.getrandbits(bench.config.data_width) for _ in range(burst.beats)]
        burst.writes = [(value, mask) for value in values]
    return bursts


def beats_per_cycle(bursts: list[Burst]) -> float:
    """Return what went over the bus from the second burst on."""
    ends = [burst.ended for burst in bursts]
    beats = sum(len(burst.writes or burst.values) for burst in bursts[1:])
    return beats / (ends[-1] - ends[0])


def test_it_converts():
    rtlil.convert(L2Slice(SMALL))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 3000}, "size must be a power of two, not 3000"),
        ({"ways": 32}, "ways must be between 1 and 16, not 32"),
        ({"misses": 1}, "misses must be between 2 and 256, not 1"),
        ({"write_backs": 3}, "write_backs must be a power of two, not 3"),
        ({"size": 256}, "8 ways x 64 bytes x 2 = 1024 bytes, not 256"),
        ({"no_allocate_sources": (-1,)}, "each of no_allocate_sources must be between 0 and 255"),
    ],
)
def test_what_a_cache_must_be(change, message):
    with pytest.raises(ValueError, match=message):
        L2Config(**change)


def test_sources_are_a_tuple():
    with pytest.raises(TypeError, match=r"must be a tuple of integers, not \[0\]"):
        L2Config(no_allocate_sources=[0])  # pyright: ignore[reportArgumentType]  # what is refused


def test_what_its_place_must_be():
    with pytest.raises(ValueError, match="line_bytes must be a beat of 32 bytes or more, not 16"):
        L2SliceConfig(l2=L2Config(line_bytes=16))
    with pytest.raises(ValueError, match="no_allocate_sources must be below 8, not 9"):
        L2SliceConfig(l2=L2Config(no_allocate_sources=(9,)))


@pytest.mark.parametrize("stall", [0, 0.3])
@pytest.mark.parametrize("name", CONFIGS)
def test_everybody_sees_one_order_of_writes(name, stall):
    """Few lines, so that they are given up all the time; then fewer, all asked for at once."""
    config = CONFIGS[name]
    bench = L2Bench(
        config, random.Random(5), jitter=30 if stall else 0, stall=stall, gated=bool(stall)
    )
    ids = [DMA, DMA + 1, CORE, CORE + 1, OTHER]
    lines = range(3 * config.l2.lines)
    bench.run(
        bench.random_bursts(120, lines=lines, ids=ids), "flush",
        bench.random_bursts(120, lines=range(3), ids=ids), "flush",
        bench.random_bursts(60, lines=lines, ids=ids, writes=0.2),
    )  # fmt: skip
    assert bench.events["read_miss"] and bench.events["write_miss"] and bench.events["write_back"]
    assert not bench.failed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", CONFIGS)
def test_one_order_of_writes_for_long(name, seed):
    config, rng = CONFIGS[name], random.Random(100 + seed)
    bench = L2Bench(
        config,
        rng,
        jitter=rng.choice([0, 8, 60]),
        stall=rng.choice([0, 0.1, 0.5]),
        latency=seed,
        gated=bool(seed % 2),
    )
    ids = [DMA, DMA + 1, CORE, CORE + 1, OTHER]
    phases = []
    for _ in range(6):
        lines = range(rng.choice([2, 5, config.l2.lines, 3 * config.l2.lines]))
        phases += [bench.random_bursts(200, lines=lines, ids=ids, writes=rng.random()), "flush"]
    bench.run(*phases, timeout=60_000)


def test_slices_share_addresses_line_by_line():
    """Lines of the other slice are not here: all sets of this one are used."""
    config = config_of(SMALL.l2, masters=2)
    bench = L2Bench(config, random.Random(2))
    odd = range(1, 2 * config.l2.lines, 2)
    bench.run(writes(bench, CORE, odd), reads(bench, CORE, odd), "flush")
    assert bench.events["write_back"] == config.l2.lines and not bench.fetched


def test_latency():
    bench = L2Bench(SMALL, random.Random(1), latency=0)
    first, again, miss = (reads(bench, CORE, [n])[0] for n in (0, 0, 1))
    write = writes(bench, CORE, [0])[0]
    bench.run([first], [again], [write], [miss])
    assert again.first - again.since == 4
    assert write.ended - write.since == 3
    # 2 cycles to DRAM, 1 there for each of 2 beats, 6 back.
    assert miss.first - miss.since == 10


def test_hits_go_at_a_beat_per_cycle_each_way():
    bench = L2Bench(config_of(L2Config(size=4096, misses=4)), random.Random(1))
    lines = range(40)
    warm, write, read = (f(bench, CORE, lines) for f in (writes, writes, reads))
    bench.run(warm, write, read)
    assert beats_per_cycle(write) == beats_per_cycle(read) == 1
    both = writes(bench, CORE, lines) + reads(bench, OTHER, lines)
    bench = L2Bench(bench.config, random.Random(1))
    bench.run(warm_of(both), both)
    assert beats_per_cycle(both[:40]) > 0.95 and beats_per_cycle(both[40:]) > 0.95


def warm_of(bursts: list[Burst]) -> list[Burst]:
    """Return writes of the same lines before them."""
    return [Burst(b.id, b.address, writes=b.writes) for b in bursts if b.writes]


def misses_per_cycle(identity: int, l2: L2Config, latency: int) -> float:
    """Return the beats per cycle of reads of lines that are all missed."""
    bench = L2Bench(config_of(l2), random.Random(1), latency=latency, span=1 << 14)
    bursts = reads(bench, identity, range(2 * l2.misses))
    bench.run(bursts)
    assert len(bench.fetched) == len(bursts)
    return beats_per_cycle(bursts)


@pytest.mark.parametrize("identity", [DMA, CORE])
def test_misses_keep_dram_busy(identity):
    """16 lines of 2 beats are as many as the cycles that one takes."""
    assert misses_per_cycle(identity, L2Config(size=1024, misses=16, write_backs=4), 16) > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("identity", [DMA, CORE])
def test_misses_keep_dram_busy_at_its_default(identity):
    assert misses_per_cycle(identity, L2Config(), 100) > 0.98


def test_hits_pass_misses_of_other_ids_only():
    bench = L2Bench(SMALL, random.Random(1), latency=100)
    hit, same, miss = (reads(bench, who, [n])[0] for who, n in ((OTHER, 0), (CORE, 0), (CORE, 9)))
    bench.run(reads(bench, CORE, [0]), [miss, hit, same])
    assert hit.ended < miss.since + 10
    assert same.ended > miss.ended > miss.since + 100
    assert len(bench.fetched) == 2


def test_a_line_is_read_once_for_all():
    bench = L2Bench(SMALL, random.Random(1), latency=50)
    bench.run([*reads(bench, CORE, [3]), *reads(bench, OTHER, [3]), *reads(bench, CORE + 1, [3])])
    assert len(bench.fetched) == 1


def test_reads_past_the_cache_see_writes_in_order():
    """What DRAM answers later, to an earlier read of an id, is not newer."""
    bench = L2Bench(SMALL, random.Random(4), latency=8, jitter=40)
    bench.run(*(reads(bench, DMA, [0] * 3) + writes(bench, DMA, [0]) for _ in range(25)))
    assert bench.events["write_stall"]


def test_writes_read_nothing():
    bench = L2Bench(SMALL, random.Random(1))
    lines = range(3 * SMALL.l2.lines)
    bench.run(writes(bench, CORE, lines, strobes=6), "flush")
    assert not bench.fetched
    assert [count for *_, count in bench.stored] == [4] * len(lines)
    bench = L2Bench(SMALL, random.Random(1))
    bench.run(writes(bench, CORE, [1, 2]), reads(bench, OTHER, [1, 2]))
    assert not bench.fetched
    bench = L2Bench(SMALL, random.Random(1))
    bench.run(writes(bench, CORE, [1], strobes=6), reads(bench, OTHER, [1]), "flush")
    assert len(bench.fetched) == 1


def test_misses_of_the_dma_leave_nothing_behind():
    bench = L2Bench(SMALL, random.Random(1))
    keep = reads(bench, CORE, range(SMALL.l2.lines))
    stream = range(20, 40)
    again = reads(bench, CORE, range(SMALL.l2.lines))
    bench.run(keep, reads(bench, DMA, stream), writes(bench, DMA, stream), again)
    assert len(bench.fetched) == SMALL.l2.lines + 20  # none of the lines was given up
    assert len(bench.stored) == 20 and not bench.events["write_back"]
    update, other = writes(bench, DMA, [2]), reads(bench, CORE, [2])
    bench = L2Bench(SMALL, random.Random(1))
    bench.run(reads(bench, CORE, [2]), update, other, "flush")
    assert len(bench.fetched) == 1 and bench.events["write_back"] == 1


def test_only_wanted_beats_are_read_past_the_cache():
    bench = L2Bench(SMALL, random.Random(1))
    bench.run([Burst(DMA, bench.base + 32, 1)], [Burst(CORE, bench.base + 32, 1)])
    assert bench.fetched == [(bench.base + 32, 1), (bench.base, 2)]


def test_a_flush_writes_each_line_once():
    bench = L2Bench(SMALL, random.Random(1))
    lines = range(SMALL.l2.lines)
    bench.run(writes(bench, CORE, lines), "flush", "flush", reads(bench, CORE, lines))
    assert len(bench.stored) == SMALL.l2.lines and not bench.fetched


def test_a_flush_looks_at_a_set_per_cycle():
    """Only the last set but one has lines that were written, all its 4: 2 cycles for each."""
    config = config_of(L2Config(size=8192, ways=4, misses=4, write_backs=8))
    sets = config.l2.sets
    bench = L2Bench(config, random.Random(1), span=8192, latency=0)
    bench.run("flush")
    assert bench.cycle <= 2 * sets + 8  # after a reset all sets were emptied
    before = bench.cycle
    bench = L2Bench(config, random.Random(1), span=8192, latency=0)
    bench.run("flush", writes(bench, CORE, range(sets - 2, 4 * sets, sets)), "flush")
    assert len(bench.stored) == 4 and bench.cycle <= before + sets + 50


def test_a_withheld_clock_changes_nothing():
    bench = L2Bench(SMALL, random.Random(8), jitter=20, stall=0.2, gated=True)
    bursts = (bench.random_bursts(40, lines=range(12), ids=[DMA, CORE]) for _ in range(4))
    bench.run(next(bursts), "flush", "flush", next(bursts), "flush", *bursts, "flush")
    assert bench.events["write_back"]


def test_a_read_hears_of_a_write_back_that_ends_when_it_is_looked_up():
    """Nothing else goes to DRAM after it; hits before the read vary when it is looked up."""
    bench = L2Bench(config_of(L2Config(size=256, ways=1, misses=4)), random.Random(1))
    (other,), phases = reads(bench, CORE, [1], beats=1), []
    phases.append([other])
    for hits in range(30):
        phases += [
            writes(bench, CORE, [0], strobes=1),
            [
                *reads(bench, CORE, [4]),  # line 0 is given up
                *(Burst(OTHER, other.address) for _ in range(hits)),
                *reads(bench, OTHER, [0]),
            ],
        ]
    bench.run(*phases)
    assert bench.events["write_back"] == 30


def test_errors_are_passed_on():
    broken = range(0x8000_0000, 0x8000_0020)
    bench = L2Bench(SMALL, random.Random(1), broken=broken)
    dma, core, joined = (reads(bench, who, [0])[0] for who in (DMA, CORE, OTHER))
    late = reads(bench, CORE, [0])[0]
    past = writes(bench, DMA, [0])[0]
    fine = reads(bench, CORE, [1])[0]
    bench.run([dma], [core, joined], [late], [fine])
    for burst in (dma, core, joined, late):
        assert burst.codes == [2, 0]
    assert fine.codes == [0, 0] and not bench.failed
    bench = L2Bench(SMALL, random.Random(1), broken=broken)
    bench.run([past])
    assert past.codes == [2] and not bench.failed


def test_replies_of_an_id_keep_their_order():
    """What is done here at once waits for what DRAM has to reply to."""
    bench = L2Bench(SMALL, random.Random(1), broken=range(0x8000_0000, 0x8000_0020), latency=20)
    past, hit = writes(bench, DMA, [0, 2])
    bench.run(reads(bench, CORE, [2]), [past, hit])
    assert (past.codes, hit.codes) == ([2], [0])
    assert past.ended < hit.ended


def test_a_lost_write_back_is_told():
    bench = L2Bench(SMALL, random.Random(1), broken=range(0x8000_0000, 0x8000_0040))
    write = writes(bench, CORE, [0])[0]
    bench.run([write], writes(bench, CORE, [4, 8]))
    assert write.codes == [0] and bench.failed == 1


def test_stated_cost():
    measured = measure(L2Slice(SMALL), "l2_slice")
    assert not too_deep(measured)


@pytest.mark.slow
def test_stated_cost_at_its_default():
    measured = measure(L2Slice(L2SliceConfig(l2=L2Config())), "l2_slice")
    assert not too_deep(measured)
    assert measured.cells <= CELLS
