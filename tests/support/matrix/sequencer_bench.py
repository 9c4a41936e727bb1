"""Bench of the matrix unit's sequencer: responds to it and checks all of its rules."""

import random
from collections import Counter, deque
from itertools import pairwise
from typing import Any

import numpy as np

from spica.hw.config.formats import FloatFormat, IntFormat
from spica.hw.lib.interfaces.shared_memory import Direction
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.matrix.systolic.sequencer import (
    expected_d,
    expected_descriptors,
    expected_rows,
    expected_steps,
    expected_weights,
)

__all__ = ["REVISIT_LATENCY", "WRITE_LATENCY", "SequencerSurroundings", "array_operands"]

WRITE_LATENCY, REVISIT_LATENCY = 14, 5
LONG_AGO = -1000
D_DIRECTIONS = (Direction.FILL, Direction.REFILL)
EVENTS = ("active", "idle", "wait_a", "wait_weights", "wait_drain", "wait_revisit")


def array_operands(
    form: FloatFormat | IntFormat, rng: np.random.Generator, shape, extremes: float = 0.05
) -> np.ndarray:
    """Return stored operands of an array, a share `extremes` of them corners.

    Most other floats are near 1, so that sums of their products cancel; the rest are random
    finite numbers.
    """
    uniform = rng.integers(0, 1 << form.width, shape)
    if isinstance(form, FloatFormat):
        signs = rng.integers(0, 2, shape) << form.magnitude_width
        one = form.bias << form.fraction_width
        spread = 2 << form.fraction_width
        near_one = rng.integers(one - spread, one + spread, shape)
        magnitudes = np.where(rng.random(shape) < 0.2, uniform % (form.largest + 1), near_one)
        uniform = magnitudes | signs
    extreme = rng.choice(corners(form), shape)
    return np.where(rng.random(shape) < extremes, extreme, uniform)


class SequencerSurroundings:
    """Models of shared memory, array, drain and DMA around a sequencer.

    Parameters
    ----------
    dut : Sequencer
    operations : list of dict
        Fields of the operations to run.
    stall : float
        Probability that shared memory or the DMA refuses a request or that operations pause.
    drain_stall : float
        Probability that the drain pauses in a cycle.
    loading : float
        Share of the time in which loads of others are in progress.
    seed : int

    Attributes
    ----------
    row_cycles : list of int
        Cycle in which each row, or step, was offered.
    read_cycles : list of int
        Cycle in which the drain read each row.
    events : dict
        Number of cycles of each kind.

    """

    def __init__(self, dut, operations, *, stall=0.0, drain_stall=0.0, loading=0.0, seed=0):
        self.dut = dut
        self.config, self.matrix = dut.config, dut.config.matrix
        self.operations = operations
        self.rng = random.Random(seed)
        self.stall, self.drain_stall, self.load_share = stall, drain_stall, loading
        self.unfinished, self.loading, self.load_rng = 0, 0, random.Random(seed)
        self.memory = self.rng.randbytes(self.config.shared.size)
        self.cycle = self.sent = self.finished = self.computed = 0
        self.offering = False
        self.refused: set[str] = set()  # streams with a request that was refused
        self.responses = {name: deque([None] * self.config.shared.read_latency) for name in "ab"}
        self.rows, self.weights, self.steps = [], [], []
        self.scaled, self.scales, self.last_scaled = [], [], LONG_AGO
        self.row_cycles, self.swaps, self.deadlines = [], [], []
        self.read_cycles = []
        self.written: dict[int, int] = {}  # last offer of each accumulator row
        self.offered: dict[int, int] = {}  # cycle in which its operands were offered
        self.tile_phases, self.last_steps = {}, []
        self.descriptors, self.open_descriptors, self.drains = [], [], []
        self.pointer = self.end = 0
        self.drain_addresses = deque()
        self.stored = self.drained = 0
        self.withheld = 0  # rows of the active drain that may still be offered
        self.offers = Counter()  # of each accumulator row
        self.offers_before_stores = self.count_offers("store")
        # Operations that load D, the one in progress, its unfinished blocks, and its last cycle.
        self.d_operations = deque(op for op in operations if op.get("load_d"))
        self.offers_before_d = deque(self.count_offers("load_d"))
        self.d_open, self.d_left, self.d_unsent, self.d_over = None, 0, 0, 0
        # Loads in program order, and the operation of each row.
        self.loads_left = [op["load_a"] + op["load_b"] for op in operations]
        self.load_owners = deque(
            index for index, count in enumerate(self.loads_left) for _ in range(count)
        )
        self.rows_left = deque(
            [index, self.row_count(op)] for index, op in enumerate(operations) if op["compute"]
        )
        self.events: dict[str, int] = dict.fromkeys(EVENTS, 0)

    async def run(self, ctx):
        """Simulate until every operation has finished."""
        outputs = self.outputs()
        signals = [signal for valid, payload, *_ in outputs for signal in (valid, payload)]
        dut = self.dut
        while self.finished < len(self.operations):
            ready = self.drive(ctx)
            _, _, accepted, finished, computed, events, *values = await ctx.tick().sample(
                dut.operation.ready, dut.finished, dut.computed, dut.events, *signals
            )
            if self.offering and accepted:
                self.sent += 1
                self.offering = False
            for (_, _, name, take), valid, payload in zip(
                outputs, values[0::2], values[1::2], strict=True
            ):
                self.hold(name, valid, ready)
                if name in self.responses:
                    take(name, payload if valid and ready[name] else None)
                elif valid and ready.get(name, True):
                    take(payload)
            self.keep_deadlines()
            self.count(finished, computed, events)
            self.cycle += 1

    def hold(self, name: str, valid: int, ready: dict[str, bool]):
        """Check that a refused request is not withdrawn."""
        assert valid or name not in self.refused, f"{name} is withdrawn"
        self.refused.discard(name)
        if valid and not ready.get(name, True):
            self.refused.add(name)

    def count_offers(self, part: str) -> list[Counter]:
        """Return the offers of each accumulator row before each store or load of D."""
        offers, counts = Counter(), []
        for operation in self.operations:
            arguments = (self.config, operation, self.memory)
            if operation.get(part) and part != "store":
                counts.append(offers.copy())
            if operation["compute"] and self.matrix.dataflow == "weight_stationary":
                offers.update(address for _, _, address, _ in expected_rows(*arguments))
            elif operation["compute"]:
                for step in expected_steps(*arguments):
                    if step[3]:
                        offers.update(range(step[4], step[4] + self.matrix.rows))
            if part == "store" and operation["store"]:
                counts.append(offers.copy())
        return counts

    def outputs(self) -> list[tuple[Any, Any, str, Any]]:
        """Return the outputs of the sequencer: valid, payload, name, and its handler."""
        dut = self.dut
        if self.matrix.dataflow == "weight_stationary":
            operands = [
                (dut.weights.valid, dut.weights.payload, "weights", self.take_weights),
                (dut.row.valid, dut.row.payload, "row", self.take_row),
            ]
            if self.matrix.scales_rows:
                operands.append((dut.scales.valid, dut.scales.payload, "scales", self.take_scales))
        else:
            operands = [(dut.step.valid, dut.step.payload, "step", self.take_step)]
        streams = [
            (dut.a.request, "a", self.read),
            (dut.b.request, "b", self.read),
            (dut.drain_command, "drain", self.start_drain),
            (dut.descriptor, "descriptor", self.take_descriptor),
        ]
        return operands + [(port.valid, port.payload, *rest) for port, *rest in streams]

    def drive(self, ctx):
        """Set every input for one cycle; return the ready signals."""
        dut, rng = self.dut, self.rng
        ready = {name: rng.random() >= self.stall for name in ("a", "b", "descriptor")}
        was_unfinished, self.unfinished = self.unfinished, ctx.get(dut.progress.unfinished)
        assert was_unfinished or not (self.unfinished and self.loading)
        if not self.cycle or self.load_rng.random() < 0.1:
            self.loading = int(self.load_rng.random() < self.load_share)
        ctx.set(dut.loading, self.loading)
        self.advance_drain()
        ready["drain"] = self.pointer == self.end and rng.random() >= self.drain_stall
        for name, port in (("a", dut.a), ("b", dut.b)):
            data = self.responses[name].popleft()
            ctx.set(port.request.ready, ready[name])
            ctx.set(port.response.valid, data is not None)
            ctx.set(port.response.payload, data or 0)
        self.offering = self.sent < len(self.operations) and (
            self.offering or rng.random() >= self.stall
        )
        ctx.set(dut.operation.valid, self.offering)
        if self.offering:
            ctx.set(dut.operation.payload, self.operations[self.sent])
        ctx.set(dut.running, 1)
        ctx.set(dut.descriptor.ready, ready["descriptor"])
        ctx.set(dut.drain_command.ready, ready["drain"])
        ctx.set(dut.progress.pointer, self.pointer)
        ctx.set(dut.progress.end, self.end)
        if self.matrix.load_d:
            self.advance_d(ctx)
        in_flight = bool(self.row_cycles) and self.cycle - self.row_cycles[-1] <= WRITE_LATENCY
        ctx.set(dut.in_flight, in_flight)
        self.complete_a_descriptor(ctx)
        return ready

    def read(self, name, address):
        """Answer a read `read_latency` cycles after it was accepted."""
        data = None
        if address is not None:
            size = getattr(self.matrix, f"{name}_bytes")
            assert address % size == 0
            data = int.from_bytes(self.memory[address : address + size], "little")
        self.responses[name].append(data)

    def count(self, finished, computed, events):
        """Check that exactly one event is active."""
        self.finished += finished
        self.computed += computed
        held = [name for name in EVENTS if getattr(events, name)]
        assert len(held) == 1, held
        self.events[held[0]] += 1

    def row_count(self, operation):
        """Return the number of rows, or steps, of an operation."""
        if self.matrix.dataflow == "weight_stationary":
            return operation["k_blocks"] * operation["j_blocks"] * operation["height"]
        return operation["i_blocks"] * operation["j_blocks"] * operation["depth"]

    def enter(self):
        """Record a row or a step, and check that its operation's loads have ended."""
        index, left = self.rows_left[0]
        assert not self.loads_left[index]
        self.rows_left[0][1] -= 1
        if left == 1:
            self.rows_left.popleft()
        self.row_cycles.append(self.cycle)

    def take_weights(self, weights):
        """Check that a row of weights is not too early."""
        rows = self.matrix.rows
        tile, row = divmod(len(self.weights), rows)
        assert weights.row == row
        assert tile <= len(self.swaps), "weights of a tile arrive before the last tile is in use"
        if tile:
            assert self.cycle > self.swaps[tile - 1] + row * self.matrix.element_latency
        self.weights.append(list(weights.b))

    def take_row(self, row):
        """Check the rules of a row of A."""
        self.write(row.address, self.cycle, row.accumulate)
        self.enter()
        self.rows.append((list(row.a), row.swap, row.address, row.accumulate))
        if self.matrix.scales_rows:
            self.scaled.append(row.scaled)
            if row.scaled:
                self.last_scaled = self.cycle
        if row.swap:
            latency, rows = self.matrix.element_latency, self.matrix.rows
            first = len(self.swaps) * rows
            self.swaps.append(self.cycle)
            self.deadlines += [(self.cycle + r * latency, first + r) for r in range(rows)]

    def take_scales(self, scales):
        """Record a line of scales, and check that no row in flight uses the ones before."""
        assert self.cycle - self.last_scaled > WRITE_LATENCY
        self.scales.append((len(self.rows), scales.number, scales.line))

    def keep_deadlines(self):
        """Check that rows of weights are not too late."""
        due = [index for deadline, index in self.deadlines if deadline <= self.cycle]
        assert all(index < len(self.weights) for index in due)
        self.deadlines = [entry for entry in self.deadlines if entry[0] > self.cycle]

    def take_step(self, step):
        """Check the rules of an output-stationary step."""
        latency, rows = self.matrix.element_latency, self.matrix.rows
        slots, phase = max(2, latency), self.cycle % latency
        assert bool(step.first) == (phase not in self.tile_phases)
        self.tile_phases[phase] = True
        self.enter()
        expects = (list(step.a), list(step.b), step.first, step.last)
        if step.last:
            del self.tile_phases[phase]
            for cycle in self.last_steps[-rows * slots :]:
                distance = self.cycle - cycle
                assert distance % slots or distance >= rows * slots
            self.last_steps.append(self.cycle)
            for row in range(rows):
                self.write(step.address + row, self.cycle + row * slots, step.accumulate)
            expects += (step.address, step.accumulate)
        self.steps.append(expects)

    def advance_d(self, ctx):
        """Drive whether the last line of D is still on its way; end its load."""
        if self.d_open and not self.d_left and self.cycle > self.d_over:
            self.d_open = None
        ctx.set(self.dut.arriving, self.d_open is not None)

    def begin_d(self):
        """Check that D may replace the rows of its tile."""
        assert self.d_open is None
        operation, before = self.d_operations.popleft(), self.offers_before_d.popleft()
        self.d_open = range(operation["base"], operation["end"])
        self.d_left = self.d_unsent = operation["j_blocks"]
        for address in self.d_open:
            assert self.offers[address] == before[address]
            assert self.cycle - self.offered.get(address, LONG_AGO) > WRITE_LATENCY
            assert address not in self.drain_addresses

    def write(self, address, cycle, accumulate):
        """Check that an accumulator row may be written."""
        assert self.d_open is None or address not in self.d_open
        last = self.unfinished and self.end - self.withheld <= address < self.end
        assert last or address < self.pointer or address >= self.end
        self.offers[address] += 1
        self.offered[address] = self.cycle
        if accumulate and address in self.written:
            assert cycle - self.written[address] >= REVISIT_LATENCY
        self.written[address] = cycle

    def start_drain(self, drain):
        """Accept a drain; one that may overtake the array must use the array's order."""
        addresses = [
            drain.address + drain.block_stride * block + row
            for block in range(drain.blocks)
            for row in range(drain.rows)
        ]
        assert not self.d_open or not set(addresses) & set(self.d_open)
        if self.unfinished:
            assert drain.blocks > 1
            self.withheld = drain.rows
        if self.matrix.dataflow == "weight_stationary":
            offered = addresses[: len(addresses) - self.withheld]
            written = [self.written.get(address, LONG_AGO) for address in offered]
            if self.cycle - max(written) <= WRITE_LATENCY:
                assert all(later > earlier for earlier, later in pairwise(written))
        self.drains.append((
            drain.address,
            drain.rows,
            drain.blocks,
            drain.block_stride,
            drain.wide,
            drain.relu,
        ))
        self.pointer, self.end = addresses[0], addresses[-1] + 1
        self.drain_addresses = deque(addresses)

    def advance_drain(self):
        """Read one more row of the active drain: it has all sums before the store, none after."""
        if not self.unfinished:
            self.withheld = 0
        if len(self.drain_addresses) > self.withheld and self.rng.random() >= self.drain_stall:
            address = self.drain_addresses.popleft()
            self.read_cycles.append(self.cycle)
            before = self.offers_before_stores[len(self.drains) - 1]
            assert self.offers[address] == before[address]
            self.pointer = self.drain_addresses[0] if self.drain_addresses else self.end
            self.drained += not self.drain_addresses

    def take_descriptor(self, descriptor):
        """Hold a descriptor; it ends some time later, in any order."""
        assert descriptor.tag & 1
        self.descriptors.append(descriptor)
        if descriptor.direction in D_DIRECTIONS:
            if not self.d_unsent:
                self.begin_d()
            self.d_unsent -= 1
        owner = self.load_owners.popleft() if descriptor.direction == Direction.LOAD else None
        self.open_descriptors.append((self.cycle + self.rng.choice([1, 5, 60]), descriptor, owner))

    def complete_a_descriptor(self, ctx):
        """Complete a finished descriptor; a store only once its results have left."""
        ctx.set(self.dut.done.valid, 0)
        for index, (over, descriptor, owner) in enumerate(self.open_descriptors):
            is_d = descriptor.direction in D_DIRECTIONS
            load = owner is not None or is_d
            if over <= self.cycle and (load or self.stored < self.drained):
                done = {"tag": descriptor.tag, "direction": descriptor.direction, "error": 0}
                ctx.set(self.dut.done.valid, 1)
                ctx.set(self.dut.done.payload, done)
                self.stored += not load
                if is_d:
                    self.d_left -= 1
                    self.d_over = self.cycle + self.rng.choice([0, 0, 3])
                elif load:
                    self.loads_left[owner] -= 1
                del self.open_descriptors[index]
                return

    def check(self):
        """Compare what the sequencer did with the golden model."""
        computes = [operation for operation in self.operations if operation["compute"]]
        expected = {"rows": [], "weights": [], "steps": []}
        for operation in computes:
            arguments = (self.config, operation, self.memory)
            if self.matrix.dataflow == "weight_stationary":
                expected["rows"] += expected_rows(*arguments)
                expected["weights"] += expected_weights(*arguments)
            else:
                expected["steps"] += expected_steps(*arguments)
        assert {name: getattr(self, name) for name in expected} == expected
        assert self.computed == len(computes)
        if self.matrix.scales_rows:
            self.check_scales(computes)
        self.check_descriptors()

    def check_scales(self, computes):
        """Compare the scales of each compute, which precede its rows, and the rows scaled."""
        size, first, scales, scaled = self.matrix.a_bytes, 0, [], []
        for operation in computes:
            lines = operation["scale_lines"]
            for number in range(lines):
                start = (operation["scales_line"] + number) * size
                line = int.from_bytes(self.memory[start : start + size], "little")
                scales.append((first, number, line))
            for _ in range(operation["j_blocks"]):
                for k_block in range(operation["k_blocks"]):
                    scaled += [int(lines > 0 and k_block == 0)] * operation["height"]
            first += self.row_count(operation)
        assert self.scales == scales
        assert self.scaled == scaled

    def check_d(self):
        """Compare the descriptors of D, and that all were sent."""
        moved = [
            descriptor for descriptor in self.descriptors if descriptor.direction in D_DIRECTIONS
        ]
        expected = [
            fields for operation in self.operations for fields in expected_d(self.config, operation)
        ]
        assert expected == [
            {name: getattr(descriptor, name) for name in fields}
            | {"direction": descriptor.direction.name}
            for descriptor, fields in zip(moved, expected, strict=True)
        ]

    def check_descriptors(self):
        """Compare descriptors (loads and stores separately) and the commands of the drain."""
        descriptors = [
            descriptor
            for operation in self.operations
            for descriptor in expected_descriptors(self.config, operation)
        ]
        self.check_d()
        for loads in (True, False):
            expected = [
                descriptor
                for descriptor in descriptors
                if (descriptor["direction"] == "LOAD") == loads
            ]
            moved = [
                descriptor
                for descriptor in self.descriptors
                if (descriptor.direction == Direction.LOAD) == loads
                and descriptor.direction not in D_DIRECTIONS
            ]
            names = expected[0] if expected else {}
            assert expected == [
                {name: getattr(descriptor, name) for name in names}
                | {"direction": descriptor.direction.name}
                for descriptor in moved
            ]
        assert self.drains == [
            (
                operation["base"],
                operation["height"],
                operation["j_blocks"],
                operation["i_blocks"] * self.matrix.rows,
                operation["wide"],
                operation["relu"],
            )
            for operation in self.operations
            if operation["store"]
        ]
