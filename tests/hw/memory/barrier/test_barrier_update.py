"""Tests of `hw.memory.barrier.barrier_update` against the golden model."""

import random

from amaranth.lib import data

from spica.hw.isa.transaction_barrier import BARRIER_LAYOUT, BarrierFault, BarrierOperation
from spica.hw.memory.barrier.barrier_update import BarrierUpdate
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.barrier.transaction_barrier import (
    BarrierState,
    barrier_step,
    packed_barrier,
    unpacked_barrier,
)
from spica.synth.measure import measure

MOST = 2**20 - 1
CORNERS = (0, 1, 2, MOST - 1, MOST, MOST + 1, MOST + 2, 2**31, 2**32 - 1)


def random_case(rng):
    """Return the bytes of a barrier, or others, an operation and an operand near its limits."""
    expected = rng.choice([1, 2, 3, MOST - 1, MOST, rng.randrange(1, MOST + 1)])
    pending = rng.choice([0, 1, expected, rng.randrange(expected + 1)])
    transferred = rng.choice([0, 1, -1, MOST, -MOST, rng.randrange(-MOST, MOST + 1)])
    state = BarrierState(
        pending=min(pending, expected),
        expected=expected,
        bytes=transferred or int(pending == 0),
        parity=rng.randrange(2),
    )
    near = [state.pending, state.pending + 1, expected, abs(transferred), MOST - abs(transferred)]
    operand = rng.choice([*CORNERS, *near, *near, *(one + 1 for one in near), 0, 1])
    other = rng.choice([0, 2**64 - 1, packed_barrier(state) ^ 1 << rng.choice([62, 63])])
    word = packed_barrier(state) if rng.random() < 0.9 else other
    return word, rng.choice(list(BarrierOperation)), operand


def test_random_operations_are_those_of_the_golden_model():
    rng, dut = random.Random(1), require_no_loop(BarrierUpdate())
    faults, completed = dict.fromkeys(BarrierFault, 0), 0

    async def run(ctx):
        nonlocal completed
        for _ in range(20_000):
            word, operation, operand = random_case(rng)
            ctx.set(dut.word, word)
            ctx.set(dut.operation, operation)
            ctx.set(dut.operand, operand)
            expected = barrier_step(unpacked_barrier(word), operation, operand)
            case = (data.Const(BARRIER_LAYOUT, word), operation.name, operand)
            faults[expected.fault] += 1
            completed += expected.completed
            assert ctx.get(dut.fault) == expected.fault, case
            assert ctx.get(dut.result) == expected.result, case
            assert ctx.get(dut.completes) == expected.completed, case
            is_legal = expected.fault is BarrierFault.NONE
            writes = is_legal and operation < BarrierOperation.TEST_WAIT
            assert ctx.get(dut.writes) == writes, case
            if writes:
                assert ctx.get(dut.new_word) == packed_barrier(expected.state), case

    simulate(dut, run, domains=())
    assert completed > 150
    assert all(count > 50 for fault, count in faults.items() if fault != BarrierFault.ADDRESS)


def test_cells_and_depth():
    measured = measure(BarrierUpdate(), "barrier_update")
    assert measured.cells <= 150
    assert measured.nand2 <= 2500
    assert measured.depth <= 30
