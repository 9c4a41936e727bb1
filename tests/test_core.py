"""The core as a whole: programs leave in memory what they leave on the instruction-set model."""

import pytest
from amaranth.back import rtlil

from spica.hw.address_map import ENTRY
from spica.hw.core.core import Core
from spica.sim.core_bench import run_core, run_model
from spica.sim.programs.bench import END, START, small_config

ROOM = 4096
#: In every thread: s0 is its number, s1 where its results go.
BEGIN = f"""{START}
        csrr s0, mhartid
        slli s1, s0, 5
        la t1, results
        add s1, s1, t1
"""
RESULTS = f"""{END}        .word 0
results: .word 0
"""
PROGRAMS = {
    "integers": """
        addi a0, s0, 7
        slli a1, a0, 3
        mul a2, a0, a1
        sub a3, a2, s0
        div a4, a3, a0
        sw a2, 0(s1)
        sw a3, 4(s1)
        sw a4, 8(s1)
        lw a5, 4(s1)
        addi a5, a5, 1
        sb a5, 12(s1)
    """,
    "floats": """
        addi a0, s0, 3
        fcvt.s.w fa0, a0
        fmadd.s fa1, fa0, fa0, fa0
        fdiv.s fa2, fa1, fa0
        fsqrt.s fa3, fa1
        frcp.s fa4, fa0
        fmul.s fa5, fa4, fa2, rtz
        csrr a1, fflags
        fsw fa1, 0(s1)
        fsw fa2, 4(s1)
        fsw fa3, 8(s1)
        fsw fa5, 12(s1)
        sw a1, 16(s1)
    """,
    "divergence": """
        andi a0, s0, 1
        vx_split a1, a0, zero
        beqz a0, other
        addi a2, s0, 100
        j join
other:  slli a2, s0, 4
join:   vx_join a1
        sw a2, 0(s1)
        li a3, 5
loop:   addi a3, a3, -1
        add a2, a2, a3
        bnez a3, loop
        sw a2, 4(s1)
    """,
}


def test_it_converts():
    rtlil.convert(Core(small_config(warps=2, threads=2)))


@pytest.mark.parametrize("shape", [(1, 1), (2, 4)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_leave_what_they_leave_on_the_model(name, shape):
    warps, threads = shape
    config = small_config(warps=warps, threads=threads)
    text = BEGIN + PROGRAMS[name] + RESULTS
    expected = run_model(config, text, ROOM)
    run = run_core(config, text, ROOM)
    assert run.faults == []
    assert run.memory == expected.read(ENTRY, ROOM).tobytes()
    assert run.instructions == expected.statistics.instructions
