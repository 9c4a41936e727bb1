"""The tile sequencer against its golden model and the timing rules of the array."""

import random
from collections import deque
from dataclasses import replace
from itertools import pairwise

import pytest
from amaranth.back import rtlil

from spica.hw.config import ClusterConfig, MatrixConfig, SharedMemoryConfig
from spica.hw.matrix.sequencer import Sequencer
from spica.hw.memory.ports import Direction
from spica.sim.bench import simulate
from spica.sim.golden.sequencer import expected_jobs, expected_rows, expected_weights

WRITE_LATENCY, REVISIT_LATENCY = 14, 5

BASE = ClusterConfig(
    shared=SharedMemoryConfig(size=4096, banks=2, subbanks=8),
    matrix=MatrixConfig(rows=4, columns=4, accumulator_bytes=1024, tile=(8, 8, 8)),
)
assert BASE.matrix is not None


def with_matrix(**changes):
    """Return the base configuration with another array."""
    return replace(BASE, matrix=replace(BASE.matrix, **changes))


CONFIGS = {
    "4x4": BASE,
    "4x4 latency 1": with_matrix(multiply_add_latency=1),
    "4x4 latency 4": with_matrix(multiply_add_latency=4),
    "2x8": with_matrix(rows=2, columns=8),
    "8x2 int8": with_matrix(rows=8, columns=2, operand="int8", read_scale=False),
    "memory latency 5": replace(BASE, shared=replace(BASE.shared, read_latency=5)),
}


def random_operation(config, rng, **changes):
    """Return an operation with random sizes and operands that fit."""
    matrix, lines = config.matrix, config.shared.size
    while True:
        i, j, k = (rng.choice([1, 1, 2, 3, 5]) for _ in range(3))
        if i * j * matrix.rows <= matrix.accumulator_rows:
            break
    pad_i, pad_j, pad_k = (
        rng.choice([0, 0, rng.randrange(limit)])
        for limit in (matrix.rows, matrix.columns, matrix.rows)
    )
    extents = {"a": i * matrix.rows * k * matrix.a_bytes, "b": k * matrix.rows * j * matrix.b_bytes}
    lines = {
        name: rng.randrange((config.shared.size - extents[name]) // access + 1)
        for name, access in (("a", matrix.a_bytes), ("b", matrix.b_bytes))
    }
    transposed = rng.choice([None, "a", "b"]) if matrix.rows == matrix.columns else None
    parts = rng.choice(["load", "compute", "compute", "compute", "store", "both", "all", "none"])
    return {
        "load_a": parts in ("load", "all"),
        "load_b": parts in ("load", "all"),
        "compute": parts in ("compute", "both", "all"),
        "store": parts in ("store", "both", "all"),
        "spill": rng.random() < 0.3,
        "accumulate": rng.random() < 0.5,
        "transpose_a": transposed == "a",
        "transpose_b": transposed == "b",
        "wide": rng.random() < 0.5,
        "relu": rng.random() < 0.5,
        "scale": rng.getrandbits(32),
        "i_blocks": i,
        "j_blocks": j,
        "k_blocks": k,
        "height": i * matrix.rows - pad_i,
        "width": j * matrix.columns - pad_j,
        "depth": k * matrix.rows - pad_k,
        "last_height": matrix.rows - pad_i,
        "last_depth": matrix.rows - pad_k,
        "a_line": lines["a"],
        "b_line": lines["b"],
        "c_line": rng.randrange(config.shared.size // matrix.a_bytes),
        **{f"{name}_address": rng.getrandbits(32) for name in "abc"},
        **{f"{name}_pitch": rng.getrandbits(16) for name in "abc"},
    } | changes


class Surroundings:
    """Shared memory, array, drain and DMA around a sequencer; checks every rule they have."""

    def __init__(self, dut, operations, *, stall=0.0, drain_stall=0.0, seed=0):
        self.dut = dut
        self.config, self.matrix = dut.config, dut.config.matrix
        self.operations = operations
        self.rng = random.Random(seed)
        self.stall, self.drain_stall = stall, drain_stall
        self.memory = self.rng.randbytes(self.config.shared.size)
        self.cycle = 0
        self.rows, self.weights, self.jobs, self.drains = [], [], [], []
        self.row_cycles, self.offers = [], {}
        self.swaps, self.last_swap, self.weight_row = [], -1000, 0
        self.unmet = []
        self.pointer = self.end = 0
        self.drain_addresses = deque()
        self.drained = 0
        self.finished = self.computed = 0
        self.events = dict.fromkeys(
            ("active", "idle", "wait_a", "wait_weights", "wait_drain", "wait_revisit"), 0
        )
        self.sent = 0
        self.busy_jobs = []
        self.done_at = {}

    async def run(self, ctx):
        """Simulate until every operation has finished."""
        dut = self.dut
        ports = {name: getattr(dut, name) for name in "ab"}
        responses = {name: deque([None] * self.config.shared.read_latency) for name in "ab"}
        offering = False
        while self.finished < len(self.operations):
            ready = {name: self.rng.random() >= self.stall for name in "ab"}
            for name, port in ports.items():
                ctx.set(port.request.ready, ready[name])
                data = responses[name].popleft()
                ctx.set(port.response.valid, data is not None)
                ctx.set(port.response.payload, data or 0)
            offering = self.sent < len(self.operations) and (
                offering or self.rng.random() >= self.stall
            )
            ctx.set(dut.operation.valid, offering)
            if offering:
                ctx.set(dut.operation.payload, self.operations[self.sent])
            ctx.set(dut.running, self.finished < len(self.operations))
            job_ready = self.rng.random() >= self.stall
            ctx.set(dut.job.ready, job_ready)
            drain_ready = self.pointer == self.end and self.rng.random() >= self.drain_stall
            ctx.set(dut.drain_command.ready, drain_ready)
            ctx.set(dut.drain_pointer, self.pointer)
            ctx.set(dut.drain_end, self.end)
            in_flight = bool(self.row_cycles) and self.cycle - self.row_cycles[-1] <= WRITE_LATENCY
            ctx.set(dut.in_flight, in_flight)
            self.complete_a_job(ctx)

            (
                _,
                _,
                accepted,
                a_valid,
                a_address,
                b_valid,
                b_address,
                row_valid,
                row,
                weights_valid,
                weights,
                job_valid,
                job,
                drain_valid,
                drain,
                finished,
                computed,
                events,
            ) = await ctx.tick().sample(
                dut.operation.ready,
                dut.a.request.valid,
                dut.a.request.payload,
                dut.b.request.valid,
                dut.b.request.payload,
                dut.row_valid,
                dut.row,
                dut.weights_valid,
                dut.weights,
                dut.job.valid,
                dut.job.payload,
                dut.drain_command.valid,
                dut.drain_command.payload,
                dut.finished,
                dut.computed,
                dut.events,
            )
            if offering and accepted:
                self.sent += 1
                offering = False
            for name, valid, address in (("a", a_valid, a_address), ("b", b_valid, b_address)):
                size = getattr(self.matrix, f"{name}_bytes")
                taken = valid and ready[name]
                assert not valid or address % size == 0
                responses[name].append(
                    int.from_bytes(self.memory[address : address + size], "little")
                    if taken
                    else None
                )
            if weights_valid:
                self.take_weights(weights)
            if row_valid:
                self.take_row(row)
            self.meet_deadlines()
            self.advance_drain()
            if drain_valid and drain_ready:
                self.start_drain(drain)
            if job_valid and job_ready:
                self.take_job(job)
            self.count(finished, computed, events)
            self.cycle += 1

    def count(self, finished, computed, events):
        """Check that exactly one event holds."""
        self.finished += finished
        self.computed += computed
        held = [name for name in self.events if getattr(events, name)]
        assert len(held) == 1, held
        self.events[held[0]] += 1

    def take_weights(self, weights):
        """Check the first rule of weights, and the order of rows."""
        latency, rows = self.matrix.multiply_add_latency, self.matrix.rows
        assert weights.row == self.weight_row % rows
        tile = self.weight_row // rows
        swap = self.swaps[tile - 1] if 0 < tile <= len(self.swaps) else None
        assert tile <= len(self.swaps), "a tile follows before the one before it is in use"
        if swap is not None:
            assert self.cycle > swap + weights.row * latency
        self.weights.append(list(weights.b))
        self.weight_row += 1

    def take_row(self, row):
        """Check the rules of drain and revisit."""
        address, last = row.address, self.offers.get(row.address)
        assert address < self.pointer or address >= self.end
        if row.accumulate and last is not None:
            assert self.cycle - last >= REVISIT_LATENCY
        self.offers[address] = self.cycle
        self.row_cycles.append(self.cycle)
        self.rows.append((list(row.a), row.swap, address, row.accumulate))
        if row.swap:
            self.swaps.append(self.cycle)
            latency, rows = self.matrix.multiply_add_latency, self.matrix.rows
            tile = len(self.swaps) - 1
            for r in range(rows):
                self.unmet.append((self.cycle + r * latency, tile * rows + r))

    def meet_deadlines(self):
        """Check the second rule of weights: each row is there when its tile needs it."""
        due = [entry for entry in self.unmet if entry[0] <= self.cycle]
        for deadline, index in due:
            assert index < self.weight_row, f"weights {index} not offered by cycle {deadline}"
        self.unmet = [entry for entry in self.unmet if entry[0] > self.cycle]

    def start_drain(self, drain):
        """Accept a drain; where it may read before all is written, its shape must be known."""
        addresses = [
            drain.block_stride * block + i
            for block in range(drain.blocks)
            for i in range(drain.rows)
        ]
        newest = max((self.offers.get(x, -1000) for x in addresses), default=-1000)
        if self.cycle - newest <= WRITE_LATENCY:
            offered = [self.offers.get(x, -1000) for x in addresses]
            assert all(later > earlier for earlier, later in pairwise(offered))
        self.drains.append((drain.rows, drain.blocks, drain.block_stride, drain.wide, drain.relu))
        self.pointer, self.end = addresses[0], addresses[-1] + 1
        self.drain_addresses = deque(addresses)

    def advance_drain(self):
        """Read one more row of the active drain."""
        if self.pointer != self.end and self.rng.random() >= self.drain_stall:
            self.drain_addresses.popleft()
            self.pointer = self.drain_addresses[0] if self.drain_addresses else self.end
            if not self.drain_addresses:
                self.drained = len(self.drains)

    def take_job(self, job):
        """Keep a job; it ends some time later, in any order."""
        self.jobs.append(job)
        delay = self.rng.choice([1, 5, 60])
        self.busy_jobs.append((self.cycle + delay, job))

    def complete_a_job(self, ctx):
        """Complete a job that is over; results leave in order."""
        ctx.set(self.dut.done.valid, 0)
        for index, (over, job) in enumerate(self.busy_jobs):
            load = job.direction == Direction.LOAD
            stores = sum(1 for done in self.done_at.values() if done == "store")
            if over <= self.cycle and (load or stores < self.drained):
                ctx.set(self.dut.done.valid, 1)
                ctx.set(
                    self.dut.done.payload,
                    {
                        "tag": job.tag,
                        "direction": job.direction,
                        "error": 0,
                    },
                )
                self.done_at[len(self.done_at)] = "load" if load else "store"
                del self.busy_jobs[index]
                return

    def check(self):
        """Compare what the sequencer did with the golden model."""
        rows, weights, jobs, drains = [], [], [], []
        for operation in self.operations:
            if operation["compute"]:
                rows += expected_rows(self.config, operation, self.memory)
                weights += expected_weights(self.config, operation, self.memory)
            jobs += expected_jobs(self.config, operation)
            if operation["store"]:
                drains.append((
                    operation["height"],
                    operation["j_blocks"],
                    operation["i_blocks"] * self.matrix.rows,
                    operation["wide"],
                    operation["relu"],
                ))
        assert self.rows == rows
        assert self.weights == weights
        assert self.drains == drains
        for loads in (True, False):
            expected = [job for job in jobs if (job["direction"] == "LOAD") == loads]
            found = (
                [
                    {name: getattr(job, name) for name in expected[0]}
                    | {"direction": job.direction.name}
                    for job in self.jobs
                    if (job.direction == Direction.LOAD) == loads
                ]
                if expected
                else []
            )
            assert found == expected
        assert all(job.tag & 1 for job in self.jobs)
        assert self.computed == sum(operation["compute"] for operation in self.operations)


def run(config, operations, **options):
    """Run operations and check them; return what surrounded the sequencer."""
    dut = Sequencer(config, write_latency=WRITE_LATENCY, revisit_latency=REVISIT_LATENCY)
    surroundings = Surroundings(dut, operations, **options)
    simulate(dut, surroundings.run)
    surroundings.check()
    return surroundings


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("name", CONFIGS)
def test_random_operations(name, stall):
    config = CONFIGS[name]
    rtlil.convert(Sequencer(config, write_latency=WRITE_LATENCY, revisit_latency=REVISIT_LATENCY))
    rng = random.Random(name)
    operations = [random_operation(config, rng) for _ in range(20)]
    run(config, operations, stall=stall, drain_stall=stall, seed=len(name))


def compute(config, i, j, k, **changes):
    """Return a compute of whole blocks."""
    rng = random.Random(0)
    return (
        random_operation(config, rng)
        | {
            "load_a": 0,
            "load_b": 0,
            "compute": 1,
            "store": 0,
            "accumulate": 0,
            "transpose_a": 0,
            "transpose_b": 0,
            "i_blocks": i,
            "j_blocks": j,
            "k_blocks": k,
            "height": i * config.matrix.rows,
            "width": j * config.matrix.columns,
            "depth": k * config.matrix.rows,
            "last_height": config.matrix.rows,
        "last_depth": config.matrix.rows,
            "a_line": 0,
            "b_line": 0,
        }
        | changes
    )


LARGE = replace(
    BASE,
    shared=replace(BASE.shared, size=16384),
    matrix=replace(BASE.matrix, accumulator_bytes=2048, tile=(32, 16, 32)),
)


def gaps(surroundings):
    """Return the lengths of the pauses between rows."""
    cycles = surroundings.row_cycles
    return [later - earlier - 1 for earlier, later in pairwise(cycles)]


def test_a_tile_takes_one_cycle_per_row_and_the_next_follows_at_once():
    operations = [compute(LARGE, 8, 4, 8, accumulate=index > 0) for index in range(3)]
    surroundings = run(LARGE, operations)
    assert len(surroundings.row_cycles) == 3 * 8 * 4 * 8 * 4
    assert not any(gaps(surroundings))
    # From the operation to its first row: queues, four rows of weights, read latency.
    assert surroundings.row_cycles[0] <= 14
    assert surroundings.events["active"] == 3 * 1024


@pytest.mark.parametrize("latency", [1, 2])
def test_tiles_as_short_as_the_array_is_high_follow_at_once(latency):
    matrix = replace(LARGE.matrix, multiply_add_latency=latency)
    config = replace(LARGE, matrix=matrix)
    surroundings = run(config, [compute(config, 1, 8, 8) for _ in range(2)])
    assert not any(gaps(surroundings))


def test_short_tiles_wait_for_weights():
    config = replace(LARGE, matrix=replace(LARGE.matrix, multiply_add_latency=4))
    surroundings = run(config, [compute(config, 1, 8, 4)])
    # A tile takes 1 + (rows - 1) * (latency - 1) cycles at least.
    assert set(gaps(surroundings)) == {0, 10 - 4}


@pytest.mark.parametrize("operand", ["a", "b"])
def test_transposed_operands_cost_no_pause(operand):
    operations = [compute(LARGE, 4, 4, 4, **{f"transpose_{operand}": 1}) for _ in range(2)]
    surroundings = run(LARGE, operations)
    assert not any(gaps(surroundings))


def test_a_store_delays_the_next_tile_by_few_cycles_only():
    operations = [compute(LARGE, 8, 4, 4, store=1) for _ in range(3)]
    surroundings = run(LARGE, operations)
    pauses = [gap for gap in gaps(surroundings) if gap]
    assert len(pauses) == 2
    assert max(pauses) <= 4


def test_events_name_the_wait():
    operations = [compute(LARGE, 1, 1, 8, height=1)]
    surroundings = run(LARGE, operations)
    assert surroundings.events["wait_weights"] > 0
    surroundings = run(
        with_matrix(multiply_add_latency=1, rows=2, columns=2),
        [compute(with_matrix(rows=2, columns=2), 1, 1, 8, height=1)],
    )
    assert surroundings.events["wait_revisit"] > 0
    surroundings = run(LARGE, [compute(LARGE, 8, 4, 2, store=1)] * 2, drain_stall=0.5)
    assert surroundings.events["wait_drain"] > 30
    surroundings = run(LARGE, [compute(LARGE, 8, 4, 2)] * 2, stall=0.5)
    assert surroundings.events["wait_a"] > 50
