"""Tests of warps that end with results in flight: no result is lost or stale."""

import pytest

from spica.hw.isa.memory_map import ENTRY
from spica.sim.iss.program_bench import small_config
from support.core.core_bench import run_core, run_model

ROOM = 4096
#: Ways to end a warp. `vx_pred` does not wait for earlier instructions.
ENDS = {"pred": "vx_pred zero, zero", "tmc": "vx_tmc zero"}
#: Warp 1 runs twice; warp 0 waits for its first end and starts it again at once.
TWO_LIVES = """
        la s0, results
        li t0, 2
        la t1, first
        vx_wspawn t0, t1
wait:   csrr t2, warp_mask
        andi t2, t2, 2
        bnez t2, wait
        la t1, second
        vx_wspawn t0, t1
        {end}

first:  la s0, results
        li a0, 7
        lw a1, 0(s0)
        li a2, 100
        div a2, a2, a0
        fcvt.s.w fa0, a0
        fmul.s fa0, fa0, fa0
        sw a0, 4(s0)
        {end}

second: add a3, a1, a2
        fcvt.w.s a4, fa0
        sw a3, 8(s0)
        lw a1, 4(s0)
        add a1, a1, a3
        sw a1, 12(s0)
        sw a4, 16(s0)
        {end}
        .word 0
results: .word 12345
"""


@pytest.mark.parametrize("snoop", [True, False])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.full
def test_a_second_life_finds_the_registers_of_the_first(end, snoop):
    config = small_config(warps=2, threads=1, snoop=snoop)
    text = TWO_LIVES.format(end=ENDS[end])
    expected = run_model(config, text, ROOM)
    run = run_core(config, text, ROOM, latency=60)
    assert run.faults == []
    assert run.memory == expected.read(ENTRY, ROOM).tobytes()


@pytest.mark.full
def test_the_core_is_busy_until_all_is_done():
    """The last warp ends with a load and a store in flight; only after them the core is idle."""
    text = """
        la s0, results
        li a0, 7
        lw a1, 0(s0)
        sw a0, 4(s0)
        vx_pred zero, zero
        .word 0
results: .word 12345
    """
    config = small_config(warps=1, threads=1)
    expected = run_model(config, text, ROOM)
    run = run_core(config, text, ROOM, latency=100)
    assert run.faults == []
    assert run.memory == expected.read(ENTRY, ROOM).tobytes()
    assert run.instructions == expected.statistics.instructions
    assert run.cycles > 100
