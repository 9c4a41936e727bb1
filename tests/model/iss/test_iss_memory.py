"""Tests of memory in the instruction-set model: mapped contents, and accesses outside."""

import numpy as np
import pytest

from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.memory_map import (
    CONSOLE_BASE,
    CONSOLE_LANES,
    COUNTER_DUMP,
    COUNTER_DUMP_BYTES,
    ENTRY,
    PRINT_BYTES,
    SHARED_BASE,
)
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import give, lanes_of, machine

A0, A1, A2, A3 = map(INTEGER_NAMES.index, ("a0", "a1", "a2", "a3"))
DATA = 0x8010_0000
THREADS = 8


@pytest.mark.parametrize("mask", [0b1111_1111, 0b0011_0110, 0b0000_0001])
@pytest.mark.parametrize("place", [DATA, SHARED_BASE])
def test_of_several_lanes_at_one_address_the_highest_stores(mask, place):
    iss = machine("sw a1, 0(a0)", threads=THREADS)
    # Two addresses: of the even lanes and of the odd ones.
    give(
        iss,
        {A0: [place + 4 * (lane & 1) for lane in range(THREADS)], A1: range(100, 100 + THREADS)},
        mask=mask,
    )
    iss.step(0, 0)
    for parity in (0, 1):
        lanes = [lane for lane in range(THREADS) if mask >> lane & 1 and lane & 1 == parity]
        stored = int(iss.read(place + 4 * parity, 4).view(np.uint32)[0])
        assert stored == (100 + lanes[-1] if lanes else 0)


def test_every_hart_has_a_byte_lane_of_the_console():
    text = f"li t0, {CONSOLE_BASE}\ncsrr t1, mhartid\nandi t2, t1, {CONSOLE_LANES - 1}\n"
    text += "add t0, t0, t2\naddi t1, t1, 65\nsb t1, 0(t0)\nvx_tmc x0"
    iss = machine(text, warps=2, threads=4, cores=2)
    told = []
    iss.on_console = told.append
    for core in range(2):
        give(iss, {}, core=core, mask=0b1011)
        give(iss, {}, core=core, warp=1, mask=0b0100)
    assert iss.run().stop is StopReason.DONE
    # Within one instruction from the lowest lane on; warps of both cores in turn.
    assert iss.console == b"ABDGIJLO"
    assert b"".join(told) == iss.console
    iss.reset()
    assert iss.console == b""


def test_print_buffers_and_counters_are_memory():
    iss = machine("sw a1, 0(a0)\nlw a2, 0(a0)\nsb a1, 5(a0)\nlbu a3, 5(a0)", cores=2)
    window = SHARED_BASE + iss.config.shared.size
    for place in (window, window + PRINT_BYTES, window + 0xFF0, COUNTER_DUMP):
        for core in range(2):
            at = place + COUNTER_DUMP_BYTES * core * (place == COUNTER_DUMP)
            give(iss, {A0: [at + 8 * (lane & 1) for lane in range(4)], A1: 0x1234_5678}, core=core)
            for _ in range(4):
                retired = iss.step(core, 0)
                assert retired.fault is None, retired.fault.sentence
            assert lanes_of(iss, A2, core=core) == [0x1234_5678] * 4
            assert lanes_of(iss, A3, core=core) == [0x78] * 4
            assert iss.read(at, 8).tolist() == [0x78, 0x56, 0x34, 0x12, 0, 0x78, 0, 0]


def test_shared_memory_is_that_of_all_cores():
    iss = machine("sw a1, 0(a0)\nlw a2, 0(a0)", cores=2)
    last = SHARED_BASE + iss.config.shared.size - 4
    for core in range(2):
        give(iss, {A0: last, A1: 77}, core=core, mask=1)
    iss.step(0, 0)
    iss.set_warp(1, 0, pc=ENTRY + 4)
    iss.step(1, 0)
    assert lanes_of(iss, A2, core=1)[0] == 77
