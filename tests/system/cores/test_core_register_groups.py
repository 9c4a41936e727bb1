"""Tests of an operation with register groups in a core: values, hazards, order and counters."""

import random
from unittest.mock import patch

import pytest

from spica.hw.core.units.execution_units import UNITS
from spica.hw.isa.csr import COUNTERS
from spica.hw.isa.operations import Port, RegisterGroup
from spica.hw.isa.program import assemble_program
from spica.sim.iss.program_bench import small_config
from support.core.core_bench import run_core, run_model
from support.core.trial_groups import SIZE, trial_groups
from support.core.trial_unit import TrialUnit, mixed

ROOM = 16 * 1024
WARPS, THREADS = 2, 2
DUAL = {"issue_width": 2, "snoop": False, "banks": 2}
#: Every thread of every warp has 32 words of its own at t1.
PROLOGUE = """
        li t0, 2
        la t1, body
        vx_wspawn t0, t1
body:   li t0, -1
        vx_tmc t0
        csrr t0, mhartid
        slli t0, t0, 7
        la t1, data
        add t1, t1, t0
"""
#: Instructions of the prologue with one active thread: of warp 0 alone, and of every warp.
SCALAR = 4 + 2 * WARPS
EPILOGUE = "\n        vx_tmc zero\ndata:   .word {}\n"


def program(rng, is_grouped: bool, count: int) -> list[tuple[str, int, int]]:
    """Return random instructions of the trial unit and copies, adjacent ones often dependent."""
    instructions = []
    for _ in range(count):
        if rng.random() < 0.5:
            rd = 0 if is_grouped else rng.randrange(4)  # selects f16 to f31
            instructions.append(("fcos.s", rd, rng.choice([0, 4, 8, 16])))
        else:
            instructions.append(("fsgnj.s", *(rng.randrange(20) for _ in range(2))))
    return instructions


def expected(instructions, is_grouped: bool, f: list[int]) -> list[int]:
    """Return the float registers of a thread after the instructions, from those before."""
    f = list(f)
    for name, rd, rs1 in instructions:
        if name == "fsgnj.s":
            f[rd] = f[rs1]
            continue
        third = 16 + SIZE * rd
        values = [mixed(f[rs1 + k], f[8 + k], f[(third + k) % 32]) for k in range(SIZE)]
        if is_grouped:
            f[rd : rd + SIZE] = [value % 2**32 for value in values]
        else:
            f[rd] = sum(values) % 2**32
    return f


def counters(values: int) -> dict[str, int]:
    """Return the observed counters by name."""
    return {name: values >> 64 * k & 2**64 - 1 for k, name in enumerate(COUNTERS)}


@pytest.mark.parametrize("is_grouped", [False, True])
@pytest.mark.parametrize("options", [{}, pytest.param(DUAL, marks=pytest.mark.slow)])
@pytest.mark.full
def test_programs(is_grouped, options):
    rng = random.Random(6)
    instructions = program(rng, is_grouped, 40)
    lines = [f"flw f{k}, {4 * k}(t1)" for k in range(32)]
    lines += [
        f"{name} f{rd}, f{rs1}" + (f", f{rs1}" if "j" in name else "")
        for name, rd, rs1 in instructions
    ]
    lines += [f"fsw f{k}, {4 * k}(t1)" for k in range(32)]
    words = [rng.getrandbits(32) for _ in range(WARPS * THREADS * 32)]
    text = PROLOGUE + "\n".join(f"        {line}" for line in lines)
    text += EPILOGUE.format(", ".join(map(str, words)))
    destination = RegisterGroup() if is_grouped else None
    with trial_groups(destination), patch.dict(UNITS, {Port.SPECIAL: TrialUnit}):
        config = small_config(warps=WARPS, threads=THREADS, **options)
        run = run_core(config, text, ROOM, observe=lambda core: [core.observed.counters])
    assert not run.faults
    for hart in range(WARPS * THREADS):
        before = words[32 * hart : 32 * hart + 32]
        at = len(assemble_program(text).data) - 4 * len(words) + 128 * hart
        after = [int.from_bytes(run.memory[at + 4 * k :][:4], "little") for k in range(32)]
        assert after == expected(instructions, is_grouped, before)
    counted = counters(run.seen[-1][0])
    total = run_model(config, text, ROOM).instructions
    assert run.instructions == counted["instructions"] == total
    assert counted["thread_instructions"] == THREADS * total - (THREADS - 1) * SCALAR
    assert counted["operations_special"] == WARPS * sum(
        name == "fcos.s" for name, *_ in instructions
    )
