"""Tests of the instruction-set model's environment: console, program texts, devices, build."""

import gc
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.isa.instructions import INSTRUCTIONS, Instruction
from spica.hw.isa.memory_map import CONSOLE_BASE, DMA, DMA_BASE, ENTRY, SHARED_BASE
from spica.hw.isa.operations import Unit
from spica.hw.isa.program import assemble_program
from spica.hw.presets import PRESETS
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss import machine as machine_module
from spica.sim.iss.library import build_library
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import machine
from spica.sim.iss.table import header

VIRGO = replace(PRESETS["virgo"], cores=1)
PRINTS = f"""
        li s0, {CONSOLE_BASE}
        li s1, 60
again:  sb s1, 0(s0)
        addi s1, s1, 1
        slti a0, s1, 90
        bnez a0, again
        vx_tmc zero
"""


def loaded(text):
    iss = Iss(VIRGO)
    iss.write(ENTRY, assemble_program(text).data)
    return iss


def test_the_console_is_heard_while_a_program_runs(monkeypatch):
    monkeypatch.setattr(machine_module, "CHUNK", 10)
    iss = machine(PRINTS)
    heard = []
    iss.on_console = heard.append
    iss.run()
    assert len(heard) > 10
    assert b"".join(heard) == iss.console


def test_a_program_that_changes_itself():
    """Store a word, and a byte, into code that was executed before."""
    text = f"""
        la s0, target
        li s1, 3
        li s2, {assemble_program("addi a0, a0, 16")[0]}
target: addi a0, a0, 1
        sw s2, 0(s0)
        li t0, 2
        sb t0, 3(s0)
        addi s1, s1, -1
        bnez s1, target
        vx_tmc zero
    """
    iss = machine(text)
    assert iss.run(1000).stop is StopReason.DONE
    assert iss.warp(0, 0).integers[10, 0] == 1 + 2 * 32


def test_the_host_changes_a_program():
    iss = machine("addi a0, a0, 1\nvx_tmc zero")
    iss.run()
    iss.write(ENTRY, assemble_program("addi a0, a0, 2").data)
    iss.reset()
    iss.run()
    assert iss.warp(0, 0).integers[10, 0] == 2


def test_a_store_in_two_places_changes_a_program():
    """One lane stores into shared memory, the other into code that was executed before."""
    text = f"""
        li t0, 3
        vx_tmc t0
        csrr s1, thread_id
        li s2, {SHARED_BASE}
        la s0, target
        sub s3, s0, s2
        andi t0, s1, 1
        mul s3, s3, t0
        add s2, s2, s3
        li s4, {assemble_program("addi a0, a0, 16")[0]}
        li s1, 2
target: addi a0, a0, 1
        sw s4, 0(s2)
        addi s1, s1, -1
        bnez s1, target
        vx_tmc zero
    """
    iss = machine(text)
    assert iss.run(1000).stop is StopReason.DONE
    assert iss.warp(0, 0).integers[10, :2].tolist() == [17, 17]


def dma_program(wait=True, rows=2):
    """Return a program that loads rows of 64 bytes from 0x80100000 into shared memory."""
    window = SHARED_BASE + VIRGO.shared.size + DMA_BASE
    fields = {"dram": 0x8010_0000, "dram_pitch": 64, "local": 0, "local_pitch": 64}
    fields |= {"shape": 64 << 16 | rows, "fill": 64 << 16 | rows, "start": 0}
    lines = [f"li s0, {window}"]
    for name, value in fields.items():
        lines += [f"li a0, {value}", f"sw a0, {DMA[name].offset}(s0)"]
    if wait:
        lines += [f"wait: lw a0, {DMA['running'].offset}(s0)", "bnez a0, wait"]
    return "\n".join([*lines, "vx_tmc zero"])


@pytest.mark.parametrize("wait", [True, False])
def test_programs_command_the_dma(wait):
    """A program that does not wait also has its data at the end."""
    iss = loaded(dma_program(wait))
    data = np.arange(128, dtype=np.uint8)
    iss.write(0x8010_0000, data)
    assert iss.run(10_000).stop is StopReason.DONE
    assert np.array_equal(iss.read(SHARED_BASE, 128), data)
    assert iss.devices.idle


def test_a_device_that_fails_when_the_program_has_ended():
    iss = loaded(dma_program(wait=False))
    iss.allow(ENTRY, 0x1000)
    iss.allow(0x8010_0000, 100)
    outcome = iss.run(10_000)
    assert outcome.stop is StopReason.FAULT
    assert outcome.fault.cause is Cause.DEVICE
    assert outcome.fault.sentence.startswith("device: ")


def test_what_a_device_raises_reaches_who_runs():
    iss = machine(f"li a0, {SHARED_BASE + 0x4000 + DMA_BASE}\nlw a1, 0(a0)\nvx_tmc zero")

    def interrupted(offset):
        raise KeyboardInterrupt

    iss.devices.read = interrupted
    with pytest.raises(KeyboardInterrupt):
        iss.run()
    with pytest.raises(KeyboardInterrupt):
        iss.step(0, 0)
    del iss.devices.read
    assert iss.run().stop is StopReason.DONE


def test_an_interrupt_before_it_can_be_kept(monkeypatch):
    """The callback itself ends with an exception, which C++ cannot see."""
    iss = machine(f"li a0, {SHARED_BASE + 0x4000 + DMA_BASE}\nlw a1, 0(a0)\nvx_tmc zero")

    def interrupted(action, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    iss.links[0].guard.run = interrupted
    with pytest.raises(KeyboardInterrupt):
        iss.run()


@pytest.mark.full
def test_a_machine_goes_with_its_last_user():
    """Reference counts free it, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        iss = loaded("vx_tmc zero")
        iss.run()
        native = weakref.ref(iss.native)
        del iss
        assert native() is None
    finally:
        gc.enable()


def test_a_command_word_without_a_matrix_unit():
    iss = machine("li a0, 9\ncsrw accel_cisc, a0")
    fault = iss.run().fault
    assert fault.cause is Cause.DEVICE and "needs a matrix unit" in fault.sentence


def test_what_cannot_be_a_machine():
    with pytest.raises(UserError, match="needs cores"):
        Iss(PRESETS["matrix"])
    with pytest.raises(UserError, match="schedule must be one of round_robin, random, not 'x'"):
        machine("nop", schedule="x")
    with pytest.raises(UserError, match="entry must be a 32-bit multiple of 4"):
        machine("nop").reset(ENTRY + 2)


def test_the_library_is_built_once(monkeypatch):
    built = build_library()

    def compiles(*arguments, **options):
        raise AssertionError("nothing is to be compiled again")

    monkeypatch.setattr("spica.sim.iss.library.compile_all", compiles)
    assert build_library() == built and built.exists()


@pytest.mark.full
def test_an_instruction_without_meaning_does_not_compile():
    """The switch over the generated mnemonics has no default."""
    unknown = Instruction("vx_unknown", Unit.WARP, 0x0000_600B, "rs1")
    with pytest.raises(UserError, match="VxUnknown"):
        build_library({**INSTRUCTIONS, unknown.name: unknown})


def test_the_table_has_every_instruction():
    text = header()
    for instruction in INSTRUCTIONS.values():
        assert f"{{{instruction.mask:#010x}u, {instruction.match:#010x}u, Op::" in text
