"""Tests of memory regions in the instruction-set model: host access, and program limits."""

import numpy as np
import pytest

from spica.hw.base.errors import UserError
from spica.hw.isa.memory_map import DRAM_BASE, DRAM_END, ENTRY, SHARED_BASE
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import END, START, machine


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
    wanted = [0x8010_FFF8 + 4 * k for k in range(4)]
    assert words_at(iss, 0x8010_FFF8, 4) == wanted
    assert iss.warp(0, 0).integers[12].tolist() == wanted


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
