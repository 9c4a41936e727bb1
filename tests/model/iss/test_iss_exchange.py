"""Tests of votes and shuffles in the instruction-set model, by every mask, and of their checks."""

import random

import numpy as np
import pytest

from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.operations import IntegerOperation, Unit
from spica.sim.golden.core.units.exchange import exchange
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import OLD, give, lanes_of, machine
from support.core.selectors import selectors

RD, A, B = 5, 10, 11
FLOAT = 32
NAMES = [name for name, one in INSTRUCTIONS.items() if one.unit is Unit.EXCHANGE]


def operation_of(name):
    """Return the operation of an instruction."""
    return IntegerOperation[name.removeprefix("vx_").removeprefix("f").removesuffix(".s").upper()]


def line_of(name, rd=RD, rs2=B):
    """Return an instruction in assembly."""
    file = "f" if INSTRUCTIONS[name].operands[0] == "fd" else "x"
    return f"{name} {file}{rd}, {file}{A}, x{rs2}"


def executed(name, sources, chosen, mask, rd=RD, rs2=B):
    """Return rd of each lane after one instruction."""
    iss = machine(line_of(name, rd, rs2), threads=len(sources), warps=1)
    values = {A: sources.tolist(), B: chosen.tolist()}
    if INSTRUCTIONS[name].operands[0] == "fd":
        values[FLOAT + A] = values.pop(A)
        rd += FLOAT
    give(iss, values, mask=mask)
    retired = iss.step(0, 0)
    assert retired.fault is None, retired.fault.sentence
    return lanes_of(iss, rd)


@pytest.mark.parametrize("threads", [1, 3, 4, 8, 32])
@pytest.mark.parametrize("name", NAMES)
def test_results_of_every_mask(name, threads):
    """Also with rd equal to an operand; inactive lanes keep their value."""
    operation, is_float = operation_of(name), name.endswith(".s")
    rng, values = random.Random(threads), np.random.default_rng(int(operation))
    masks = range(1, 1 << threads)
    if threads > 4:
        masks = [(1 << threads) - 1, 1 << threads - 1]
        masks += [rng.randrange(1, 1 << threads) for _ in range(30)]
    for mask in masks:
        sources = values.integers(0, 1 << 32, threads, dtype=np.uint32)
        sources |= np.uint32(rng.choice([0, 1]))
        chosen, rd = selectors(rng, threads), rng.choice([RD, A] if is_float else [RD, A, B])
        active = np.array([mask >> k & 1 for k in range(threads)], bool)
        expected = exchange(operation, sources[None], chosen[None], active[None])[0]
        first = OLD + RD + FLOAT * is_float
        old = {RD: np.full(threads, first), A: sources, B: chosen}[rd]
        actual = executed(name, sources, chosen, mask, rd)
        assert actual == np.where(active, expected, old).tolist(), (name, bin(mask))


def test_votes_ignore_their_second_register():
    sources, chosen = np.array([1, 0, 1, 1], np.uint32), np.array([9, 8, 7, 6], np.uint32)
    for rs2 in (0, B):
        assert executed("vx_vote_ballot", sources, chosen, 0b0111, rs2=rs2)[:3] == [0b0101] * 3


@pytest.mark.parametrize("name", NAMES)
def test_a_core_without_them_reports_them(name):
    iss = machine(line_of(name), threads=4, warp_operations=False)
    fault = iss.step(0, 0).fault
    assert fault is not None and fault.cause is Cause.ILLEGAL_INSTRUCTION
    assert "this core has no votes and shuffles: set core.warp_operations" in fault.sentence
