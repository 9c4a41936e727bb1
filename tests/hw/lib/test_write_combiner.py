"""Tests of the write combiner: bursts, beats and strobes, bounded waits."""

import random

import pytest

from spica.hw.lib.write_combiner import WriteCombinerConfig
from support.memory.write_combiner_bench import CombinerBench

CONFIGS = {
    "pairs": WriteCombinerConfig(lines=4, line_beats=2, beat_bytes=8),
    "fours": WriteCombinerConfig(lines=2, line_beats=4, beat_bytes=4),
    "singles": WriteCombinerConfig(lines=2, line_beats=1, beat_bytes=4),
    "long": WriteCombinerConfig(lines=8, line_beats=16, beat_bytes=2),
    "patient": WriteCombinerConfig(lines=8, line_beats=2, beat_bytes=4, patience=8),
    "hasty": WriteCombinerConfig(lines=2, line_beats=4, beat_bytes=4, patience=1),
    "atomics": WriteCombinerConfig(lines=8, line_beats=4, beat_bytes=8, patience=4, owner_width=3),
    "atomic pairs": WriteCombinerConfig(lines=2, line_beats=2, beat_bytes=8, owner_width=0),
}
PAIRS, PATIENT = CONFIGS["pairs"], CONFIGS["patient"]
FULL = 0xFF


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lines": 1}, "lines must be between 2 and 64, not 1"),
        ({"lines": 3}, "lines must be a power of two, not 3"),
        ({"line_beats": 512}, "line_beats must be between 1 and 256, not 512"),
        ({"beat_bytes": 12}, "beat_bytes must be a power of two, not 12"),
        ({"patience": 3}, "patience must be a power of two, not 3"),
        ({"owner_width": 17}, "owner_width must be between 0 and 16, not 17"),
    ],
)
def test_what_it_cannot_be_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        WriteCombinerConfig(**{"lines": 4, "line_beats": 2, "beat_bytes": 8, **fields})


def random_writes(rng: random.Random, config: WriteCombinerConfig, lines: int, count: int):
    """Yield writes to this many lines at both ends of memory, often of some bytes only."""
    every, last = (1 << config.beat_bytes) - 1, (1 << config.beat_width) - 1
    for _ in range(count):
        beat = rng.randrange(lines * config.line_beats)
        strobes = rng.choice([
            every,
            every,
            rng.randint(0, every),
            1 << rng.randrange(config.beat_bytes),
        ])
        write = rng.choice([beat, last - beat]), rng.randbytes(config.beat_bytes), strobes
        yield (*write, rng.getrandbits(6 + config.owner_width)) if config.has_atomics else write


@pytest.mark.parametrize("lines", [1, 3, 40])
@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(4)
def test_no_write_is_lost(name, stall, lines):
    config, rng = CONFIGS[name], random.Random(f"{name} {stall} {lines}")
    bench = CombinerBench(config, rng, stall=stall)
    writes = list(random_writes(rng, config, lines, 150))
    bench.run(writes)
    assert [write for _, write in bench.writes] == writes
    if stall and lines < 40:
        assert len(bench.bursts) < len(writes)


def pairs(count: int) -> list:
    """Return writes of both beats of this many lines."""
    return [(beat, bytes([beat] * 8), FULL) for beat in range(2 * count)]


def test_nobody_waits_for_company():
    """If the output is free, each write is a burst 1 cycle later, and its beat after another."""
    bench = CombinerBench(PAIRS, random.Random(1))
    bench.run([*pairs(10), None, *pairs(1)])
    at = [cycle for cycle, *_ in bench.writes]
    assert at == [*range(20), 21, 22]
    assert [cycle for cycle, _ in bench.bursts] == [cycle + 1 for cycle in at]
    assert [cycle for cycle, _ in bench.beats] == [cycle + 2 for cycle in at]
    assert all(burst["further"] == 0 for _, burst in bench.bursts)


def test_lines_wait_for_company_for_a_while():
    bench = CombinerBench(PATIENT, random.Random(1))
    turns = [4 * pair + n for pair in range(5) for n in (0, 2, 1, 3)]  # of two lines
    bench.run([*((beat, bytes(4), 15) for beat in turns), *[None] * 40, (100, bytes(4), 15)])
    assert [burst["further"] for _, burst in bench.bursts] == [1] * 10 + [0]
    written = {beat: cycle for cycle, (beat, *_) in bench.writes}
    for cycle, burst in bench.bursts[:-1]:
        assert cycle <= written[burst["beat"] + 1] + 2  # as soon as it is complete, one per cycle
    assert PATIENT.patience < bench.bursts[-1][0] - written[100] <= 2 * PATIENT.patience + 1


def test_lines_that_are_needed_wait_for_nobody():
    bench = CombinerBench(PATIENT, random.Random(1))
    bench.run((beat, bytes(4), 15) for beat in range(0, 80, 2))
    assert [cycle for cycle, *_ in bench.writes] == [*range(40)]
    at = [cycle for cycle, _ in bench.bursts]
    assert at[: 40 - 6] == [*range(6, 40)]


@pytest.mark.parametrize("name", ["addresses", "beats"])
def test_writes_are_combined_while_the_way_is_blocked(name):
    """Only the first is sent alone, since it was offered before its partner came."""

    def takes(cycle: int) -> tuple[bool, bool]:
        return (cycle >= 30 or name == "beats", cycle >= 30 or name == "addresses")

    bench = CombinerBench(PAIRS, random.Random(1), takes=takes)
    bench.run(pairs(20))
    # The offered write, its partner, and pairs in the other two lines. If only beats are blocked,
    # addresses are not, so nothing is combined; the first is offered and holds no line.
    assert sum(cycle < 30 for cycle, *_ in bench.writes) == {"addresses": 6, "beats": 5}[name]


@pytest.mark.parametrize(("of", "bursts"), [(1, 40), (2, 21), (3, 21)])
def test_where_one_burst_in_some_cycles_is_taken_pairs_go_together(of, bursts):
    bench = CombinerBench(PAIRS, random.Random(1), takes=lambda n: (n % of == 0, True))
    bench.run(pairs(20))
    assert len(bench.bursts) == bursts


def test_beats_follow_each_other():
    """Also across bursts, and while further writes arrive."""
    bench = CombinerBench(PAIRS, random.Random(1), takes=lambda n: (True, n >= 20))
    bench.run(pairs(30))
    at = [cycle for cycle, _ in bench.beats]
    assert at == list(range(20, 80))


def test_an_atomic_leaves_at_once_with_the_writes_before_it():
    """Two writes wait for others; the atomic, and a write after it, begin bursts of their own."""
    config = CONFIGS["atomics"]
    bench = CombinerBench(config, random.Random(1))
    plain, atomic = [(beat, bytes(8), FULL, 0) for beat in (0, 1, 8)], (1, bytes(8), 0xF, 1)
    bench.run([*plain, atomic, (1, bytes(8), FULL, 0)])
    atomic_at = bench.writes[3][0]
    bursts = [
        (burst["beat"], burst["further"], burst["user"]["atomic"]) for _, burst in bench.bursts
    ]
    assert bursts == [(0, 1, 0), (8, 0, 0), (1, 0, 1), (1, 0, 0)]
    assert [cycle - atomic_at for cycle, _ in bench.bursts][:3] == [1, 2, 3]


def test_atomics_leave_one_per_cycle():
    bench = CombinerBench(CONFIGS["atomics"], random.Random(1))
    bench.run([(beat % 3, bytes(8), 0xF0, 1) for beat in range(20)])
    at = [cycle for cycle, *_ in bench.beats]
    assert at == list(range(at[0], at[0] + 20))
