"""Tests of memory in the instruction-set model: contents, accesses outside, regions, limits."""

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.memory_map import (
    CONSOLE_BASE,
    CONSOLE_LANES,
    COUNTER_DUMP,
    COUNTER_DUMP_BYTES,
    DRAM_BASE,
    DRAM_END,
    ENTRY,
    PRINT_BYTES,
    SHARED_BASE,
)
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import END, START, give, lanes_of, machine

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
    printed = []
    iss.on_console = printed.append
    for core in range(2):
        give(iss, {}, core=core, mask=0b1011)
        give(iss, {}, core=core, warp=1, mask=0b0100)
    assert iss.run().stop is StopReason.DONE
    # Within one instruction from the lowest lane on; warps of both cores in turn.
    assert iss.console == b"ABDGIJLO"
    assert b"".join(printed) == iss.console
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


def words_at(iss, address, count):
    return iss.read(address, 4 * count).view(np.uint32).tolist()


@pytest.mark.parametrize("address", [DRAM_BASE, DRAM_BASE + 0xFFFD, DRAM_END - 9, SHARED_BASE + 3])
def test_the_host_reads_what_it_wrote(address):
    iss = machine(END)
    iss.write(address, b"spica iss")
    assert iss.read(address, 9).tobytes() == b"spica iss"
    iss.write(address, np.array([7, 1 << 30], np.uint32)[:1])
    assert iss.read(address, 9).tobytes() == b"\7\0\0\0a iss"


def test_memory_nobody_wrote_is_zero():
    assert not machine(END).read(0x9000_0000, 100_000).any()


@pytest.mark.parametrize(
    "address", [0, DRAM_BASE - 1, DRAM_END - 1, SHARED_BASE + 0x5000, 0xFFFF_FFFE, -4, 1 << 32]
)
def test_the_host_reaches_memory_only(address):
    iss = machine(END)
    with pytest.raises(UserError, match="address must be in DRAM or shared memory"):
        iss.write(address, b"four")
    with pytest.raises(UserError, match="address must be"):
        iss.read(address, 4)


def test_regions_bound_what_programs_touch_in_dram():
    """Adjacent lanes: those beyond the end are reported, and none has written."""
    text = f"""{START}
        li a0, 0x80100000
        csrr a1, thread_id
        slli a1, a1, 2
        add a0, a0, a1
        sw a0, 0(a0)
        sw a0, 8(a0)
    {END}"""
    iss = machine(text, warps=1)
    iss.allow(ENTRY, 0x1000)
    iss.allow(0x8010_0000, 16)
    outcome = iss.run()
    assert outcome.stop is StopReason.FAULT
    fault = outcome.fault
    assert (fault.cause, fault.lanes, fault.address) == (Cause.OUTSIDE_MEMORY, 0b1100, 0x8010_0010)
    assert fault.sentence == (
        "access outside memory: store of 4 bytes at 0x80100010, outside all placed regions "
        f"(core 0, warp 0, lanes 2-3, pc 0x{fault.pc:08x}: sw a0, 8(a0))"
    )
    assert words_at(iss, 0x8010_0000, 5) == [0x8010_0000 + 4 * k for k in range(4)] + [0]
    iss.allow(0x8010_0010, 8)
    assert iss.run().stop is StopReason.DONE
    assert words_at(iss, 0x8010_0010, 2) == [0x8010_0008, 0x8010_000C]


def test_lanes_on_both_sides_of_any_boundary():
    """Boundaries of pages, and of two adjacent regions."""
    text = f"""{START}
        csrr a1, thread_id
        slli a1, a1, 2
        li a0, 0x8010FFF8
        add a0, a0, a1
        sw a0, 0(a0)
        lw a2, 0(a0)
    {END}"""
    iss = machine(text, warps=1)
    iss.allow(ENTRY, 0x1000)
    iss.allow(0x8010_FFF8, 2)
    iss.allow(0x8010_FFFA, 14)
    assert iss.run().stop is StopReason.DONE
    expected = [0x8010_FFF8 + 4 * k for k in range(4)]
    assert words_at(iss, 0x8010_FFF8, 4) == expected
    assert iss.warp(0, 0).integers[12].tolist() == expected


def test_a_fault_is_that_of_the_lowest_lane():
    """Lane 0 accesses outside memory, lane 1 is misaligned, lane 2 is outside again."""
    iss = machine("lw a0, 0(a1)")
    integers = np.zeros((32, 4), np.uint32)
    integers[11] = 0x1000, SHARED_BASE + 2, 0x2000, SHARED_BASE
    iss.set_warp(0, 0, mask=0xF, integers=integers)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.lanes, fault.address) == (Cause.OUTSIDE_MEMORY, 0b101, 0x1000)
    iss.set_warp(0, 0, mask=0xE)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.lanes) == (Cause.MISALIGNED_ACCESS, 0b10)


def test_the_host_writes_outside_regions():
    iss = machine(END)
    iss.allow(ENTRY, 4)
    iss.write(0x9000_0000, b"1234")
    assert iss.read(0x9000_0000, 4).tobytes() == b"1234"
    with pytest.raises(UserError, match="a region must be 1 byte or more"):
        iss.allow(ENTRY, 0)
