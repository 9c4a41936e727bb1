"""Tests of memory regions in the instruction-set model: host access, and program limits."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS, CoreConfig
from spica.hw.isa.memory_map import COUNTER_DUMP, DRAM_BASE, DRAM_END, ENTRY, SHARED_BASE
from spica.hw.isa.program import assemble_program
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import END, START


def machine_of(warps=4):
    return Iss(replace(PRESETS["core"], core=CoreConfig(warps=warps, threads=4)))


def loaded(text, **options):
    iss = machine_of(**options)
    iss.write(ENTRY, assemble_program(text).data)
    return iss


def words_at(iss, address, count):
    return iss.read(address, 4 * count).view(np.uint32).tolist()


@pytest.mark.parametrize("address", [DRAM_BASE, DRAM_BASE + 0xFFFD, DRAM_END - 9, SHARED_BASE + 3])
def test_the_host_reads_what_it_wrote(address):
    iss = machine_of()
    iss.write(address, b"spica iss")
    assert iss.read(address, 9).tobytes() == b"spica iss"
    iss.write(address, np.array([7, 1 << 30], np.uint32)[:1])
    assert iss.read(address, 9).tobytes() == b"\7\0\0\0a iss"


def test_memory_nobody_wrote_is_zero():
    assert not machine_of().read(0x9000_0000, 100_000).any()


@pytest.mark.parametrize(
    "address", [0, DRAM_BASE - 1, DRAM_END - 1, SHARED_BASE + 0x5000, 0xFFFF_FFFE, -4, 1 << 32]
)
def test_the_host_reaches_memory_only(address):
    iss = machine_of()
    with pytest.raises(UserError, match="address must be in DRAM or shared memory"):
        iss.write(address, b"four")
    with pytest.raises(UserError, match="address must be"):
        iss.read(address, 4)


def test_what_is_left_beside_shared_memory():
    """Print buffers and counter dumps keep data stored by programs."""
    size = PRESETS["core"].shared.size
    text = f"""
        li a0, {SHARED_BASE + size + 0x200}
        li a1, {COUNTER_DUMP + 0xFC}
        li a2, 77
        sw a2, 0(a0)
        sw a2, 0(a1)
        lw a3, 0(a1)
    """
    iss = loaded(text + END)
    assert iss.run().stop is StopReason.DONE
    assert words_at(iss, SHARED_BASE + size + 0x200, 1) == [77]
    assert words_at(iss, COUNTER_DUMP + 0xFC, 1) == [77]
    assert iss.warp(0, 0).integers[13, 0] == 77


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
    iss = loaded(text, warps=1)
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
    iss = loaded(text, warps=1)
    iss.allow(ENTRY, 0x1000)
    iss.allow(0x8010_FFF8, 2)
    iss.allow(0x8010_FFFA, 14)
    assert iss.run().stop is StopReason.DONE
    wanted = [0x8010_FFF8 + 4 * k for k in range(4)]
    assert words_at(iss, 0x8010_FFF8, 4) == wanted
    assert iss.warp(0, 0).integers[12].tolist() == wanted


def test_a_fault_is_that_of_the_lowest_lane():
    """Lane 0 accesses outside memory, lane 1 is misaligned, lane 2 is outside again."""
    iss = loaded("lw a0, 0(a1)")
    integers = np.zeros((32, 4), np.uint32)
    integers[11] = 0x1000, SHARED_BASE + 2, 0x2000, SHARED_BASE
    iss.set_warp(0, 0, mask=0xF, integers=integers)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.lanes, fault.address) == (Cause.OUTSIDE_MEMORY, 0b101, 0x1000)
    iss.set_warp(0, 0, mask=0xE)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.lanes) == (Cause.MISALIGNED_ACCESS, 0b10)


def test_the_host_writes_outside_regions():
    iss = machine_of()
    iss.allow(ENTRY, 4)
    iss.write(0x9000_0000, b"1234")
    assert iss.read(0x9000_0000, 4).tobytes() == b"1234"
    with pytest.raises(UserError, match="a region must be 1 byte or more"):
        iss.allow(ENTRY, 0)


def test_instructions_come_from_what_was_placed():
    iss = machine_of()
    fault = iss.run().fault
    assert (fault.cause, fault.pc, fault.address) == (Cause.OUTSIDE_MEMORY, ENTRY, ENTRY)
    assert "instruction fetch outside the placed program" in fault.sentence
    iss.write(ENTRY, assemble_program("addi a0, a0, 1\naddi a0, a0, 1").data)
    iss.allow(ENTRY, 4)
    outcome = iss.run()
    assert (outcome.instructions, outcome.fault.pc) == (1, ENTRY + 4)
    assert outcome.fault.cause is Cause.OUTSIDE_MEMORY
