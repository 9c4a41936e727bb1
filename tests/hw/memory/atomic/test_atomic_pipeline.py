"""Tests of `hw.memory.atomic.atomic_pipeline`: random accesses with those of others, timing."""

import random

import pytest

from spica.hw.isa.operations import AtomicOperation
from spica.hw.memory.atomic.atomic_pipeline import AtomicPipeline
from spica.hw.memory.atomic.reservation_table import ReservationTableConfig
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.atomic.atomic_unit import atomic_word
from spica.sim.golden.memory.atomic.reservation_table import ReservationModel
from spica.synth.measure import measure

CONFIG = ReservationTableConfig(entries=4, columns=2, lines=2, owners=8)
BANK = ReservationTableConfig(entries=8, columns=8, lines=1024, owners=256)
MASKS = (0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100, 0b1111)
WORDS = [(column, line) for column in range(2) for line in range(2)]


def spread(mask):
    """Return the bits of the bytes of a mask."""
    return sum(0xFF << 8 * k for k in range(4) if mask >> k & 1)


def random_request(rng, last):
    """Return a random access, with values that often are equal or at the ends of a range.

    A store-conditional often follows the load-reserved of its thread.
    """
    if last and last["operation"] == AtomicOperation.LR and rng.random() < 0.7:
        return last | {"operation": AtomicOperation.SC, "operand": rng.getrandbits(32)}
    operation = rng.choice([*AtomicOperation, AtomicOperation.LR, AtomicOperation.SC])
    is_word = operation in (AtomicOperation.LR, AtomicOperation.SC)
    column, line = rng.choice(WORDS)
    values = [rng.choice([0, 1, 0x7F, 0x8000_0000, rng.getrandbits(32)]) for _ in range(2)]
    return {
        "column": column,
        "line": line,
        "operation": operation,
        "mask": 0b1111 if is_word else rng.choice(MASKS),
        "operand": values[0],
        "expected": values[1],
        "owner": rng.randrange(3),
    }


class Bench:
    """The pipeline on a memory of words, with accesses of others, against a sequential model.

    The model executes an operation when it is accepted. Others read and write whole words.
    """

    def __init__(self, config=CONFIG):
        self.dut, self.config = require_no_loop(AtomicPipeline(config)), config
        self.memory = dict.fromkeys(WORDS, 0)
        self.model = dict(self.memory)
        self.reservations = ReservationModel(config)
        self.word, self.awaited = 0, None
        self.written = self.conditional = 0

    def execute(self, request):
        """Execute an accepted operation on the model; return its result, None if it has none."""
        word = request["column"], request["line"]
        operation, old = request["operation"], self.model[word]
        holds = self.reservations.holds(request["owner"], word)
        self.conditional += operation == AtomicOperation.SC and holds
        new = atomic_word(operation, request["mask"], old, request["operand"], request["expected"])
        if operation == AtomicOperation.SC and not holds:
            return 1
        if new is not None:
            accessed = spread(request["mask"])
            self.model[word] = old & ~accessed | new & accessed
        return 0 if operation == AtomicOperation.SC else old

    async def step(self, ctx, request=None, others=()):
        """Run a cycle; `others` are (column, line, value), None to read. Return acceptance."""
        dut = self.dut
        locked = [(one.column, one.line) for one in map(ctx.get, dut.locked) if one.valid]
        write = ctx.get(dut.write)
        reads = {column: line for column, line, value in others if value is None}
        writes = {}
        for column, line, value in others:
            is_own = write.valid and write.column == column
            is_free = (column, line) not in locked and reads.get(column) != line
            if value is not None and is_free and not is_own:
                writes[column] = (line, value)
        reads = {c: line for c, line in reads.items() if (c, line) not in locked}
        if request is not None and writes.get(request["column"], (None,))[0] == request["line"]:
            del writes[request["column"]]  # a write to the word that is read waits
        lines = {column: line for column, (line, _) in writes.items()}
        if write.valid:
            lines[write.column] = write.line
        ctx.set(dut.free, sum((c not in reads) << c for c in range(self.config.columns)))
        ctx.set(dut.i.valid, request is not None)
        if request is not None:
            ctx.set(dut.i.payload, request)
        ctx.set(dut.word, self.word)
        ctx.set(dut.writes, [
            {"valid": c in lines, "line": lines.get(c, 0)} for c in range(self.config.columns)
        ])  # fmt: skip
        if self.awaited is not None:
            assert ctx.get(dut.result) == self.awaited
        for place in reads.items():
            assert self.memory[place] == self.model[place]
        accepted = request is not None and bool(ctx.get(dut.i.ready))
        assert not accepted or request["column"] not in reads
        self.finish(request if accepted else None, write, writes, lines)
        await ctx.tick()
        return accepted

    def finish(self, request, write, writes, lines):
        """Apply the accesses of a cycle to memory and model."""
        reserves = None
        if request is not None:
            word = request["column"], request["line"]
            self.word = self.memory[word]
            result = self.execute(request)
            self.awaited = None if request["operation"] == AtomicOperation.STORE else result
            if request["operation"] in (AtomicOperation.LR, AtomicOperation.SC):
                is_load = request["operation"] == AtomicOperation.LR
                reserves = (is_load, request["owner"], word)
        else:
            self.word, self.awaited = 0xDEAD_BEEF, None
        for column, (line, value) in writes.items():
            self.memory[column, line] = self.model[column, line] = value
        if write.valid:
            accessed = spread(write.mask)
            place = write.column, write.line
            self.memory[place] = self.memory[place] & ~accessed | write.data & accessed
            self.written += 1
        self.reservations.step(reserves, lines)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("requests", "others"), [(1.0, 0.0), (0.9, 0.5), (0.3, 0.9)])
@pytest.mark.quick(3)
def test_random_accesses_take_effect_one_after_the_other(requests, others, seed):
    rng, bench = random.Random(seed), Bench()

    async def run(ctx):
        request, last, accepted = None, None, 0
        for _ in range(2000):
            if request is None and rng.random() < requests:
                request = last = random_request(rng, last)
            concurrent = [
                (*rng.choice(WORDS), value)
                for value in (None, rng.getrandbits(32))
                if rng.random() < others
            ]
            if await bench.step(ctx, request, concurrent):
                request, accepted = None, accepted + 1
        for _ in range(3):
            await bench.step(ctx)
        assert accepted > 400
        assert bench.memory == bench.model
        assert bench.written > 200 and bench.conditional > 10

    simulate(bench.dut, run)


def addition(column, line):
    """Return a request that adds 1 to a word."""
    return random_request(random.Random(1), None) | {
        "column": column,
        "line": line,
        "operation": AtomicOperation.ADD,
        "mask": 0b1111,
        "operand": 1,
    }


@pytest.mark.parametrize(("words", "interval"), [(WORDS, 1), (WORDS[:1], 3)])
def test_words_in_turn_take_a_cycle_and_one_word_three(words, interval):
    bench = Bench()

    async def run(ctx):
        cycles = 0
        for number in range(20):
            while not await bench.step(ctx, addition(*words[number % len(words)])):
                cycles += 1
            cycles += 1
        assert cycles == 19 * interval + 1
        for _ in range(2):
            await bench.step(ctx)
        assert sum(bench.memory.values()) == 20
        assert not ctx.get(bench.dut.busy & ~bench.dut.i.valid)

    simulate(bench.dut, run)


def test_cells_and_depth():
    measured = measure(AtomicPipeline(BANK), "atomic_pipeline")
    assert measured.cells <= 260
    assert measured.nand2 <= 8000
    assert measured.depth <= 30
