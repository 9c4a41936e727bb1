"""Tests that the instruction-set model resumes from a save of another one, at any point."""

import dataclasses

import pytest

from spica.hw.config import CoreConfig
from spica.hw.isa.memory_map import CONSOLE_BASE, COUNTER_DUMP, ENTRY, SHARED_BASE
from spica.hw.isa.program import assemble_program
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.program_bench import END, START, small_config

CONFIG = small_config(cores=2, warps=3, threads=4, barrier_scope="core")
#: Threads diverge, print, synchronise in their core and between cores, and count in all memory.
TEXT = f"""{START}
        csrr s0, mhartid
        slli s1, s0, 2
        li s2, {CONSOLE_BASE:#x}
        add s2, s2, s0
        li s3, {COUNTER_DUMP:#x}
        add s3, s3, s1
        li s4, {SHARED_BASE:#x}
        add s4, s4, s1
        la s5, results
        add s5, s5, s1
        csrw mscratch, s0
        li s6, 3
again:  andi a0, s0, 1
        vx_split a1, a0, zero
        beqz a0, other
        addi a2, s0, 65
        j join
other:  addi a2, s0, 97
        fcvt.s.w fa0, a2
        fdiv.s fa1, fa0, fa0
join:   vx_join a1
        sb a2, 0(s2)
        lw a3, 0(s3)
        add a3, a3, a2
        sw a3, 0(s3)
        sw a3, 0(s4)
        csrr a4, mscratch
        add a3, a3, a4
        sw a3, 0(s5)
        li t0, 1
        csrr t1, num_warps
        vx_bar t0, t1
        csrr t2, warp_id
        bnez t2, next
        li t0, 0x80000002
        csrr t1, num_cores
        vx_bar t0, t1
next:   addi s6, s6, -1
        bnez s6, again
        csrr gp, fflags
        ecall
        .word 0
results: .word 0
"""


def model(schedule):
    iss = Iss(CONFIG, schedule=schedule, seed=7)
    data = assemble_program(TEXT).data
    iss.write(ENTRY, data + bytes(256))
    iss.allow(ENTRY, len(data) + 256)
    return iss


def facts(iss):
    """Return all state of a stopped model."""
    places = [(core, warp) for core in range(CONFIG.cores) for warp in range(CONFIG.core.warps)]
    return {
        "memory": iss.read(ENTRY, 1024).tobytes(),
        "shared": iss.read(SHARED_BASE, 256).tobytes(),
        "dump": iss.read(COUNTER_DUMP, 256).tobytes(),
        "console": iss.console,
        "statistics": dataclasses.asdict(iss.statistics),
        "cores": [iss.core_state(core) for core in range(CONFIG.cores)],
        "warps": [iss.warp_words(*place).tobytes() for place in places],
        "histories": [iss.history(*place) for place in places],
    }


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
def test_a_model_continues_from_every_instruction(schedule):
    straight, saved, restored = (model(schedule) for _ in range(3))
    assert straight.run().stop is StopReason.DONE
    expected = facts(straight)
    assert isinstance(CONFIG.core, CoreConfig) and len(expected["console"]) == 72
    instructions = 0
    while saved.run(1).stop is StopReason.LIMIT:
        state, between = saved.native.save(), facts(saved)
        assert restored.native.restore(state)
        assert facts(restored) == between and restored.native.save() == state
        assert restored.run().stop is StopReason.DONE
        assert facts(restored) == expected, instructions
        instructions += 1
    assert instructions > 500


def test_a_fault_is_kept():
    saved, restored = (Iss(CONFIG) for _ in range(2))
    saved.write(ENTRY, assemble_program(f"li a0, 64\nlw a1, 0(a0){END}").data)
    assert saved.run().stop is StopReason.FAULT
    assert restored.native.restore(saved.native.save())
    assert restored.fault() == saved.fault()


def test_what_is_no_state_is_refused():
    iss = model("round_robin")
    state = iss.native.save()
    assert not iss.native.restore(state[:-1])
    assert not iss.native.restore(state + b"!")
    assert not iss.native.restore(b"")
    assert iss.native.restore(state)
