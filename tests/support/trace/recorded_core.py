"""Bench of traces: programs that exercise all units of a core, and their records."""

import gc

from spica.hw.config import MachineConfig
from spica.hw.isa.encoding import RegisterClass
from spica.hw.isa.memory_map import ENTRY
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Retired
from spica.sim.iss.program_bench import END, START, small_config
from spica.sim.machine.program_machine import ProgramMachine, Window
from spica.sim.machine.program_outcome import ProgramOutcome
from spica.sim.trace.pipeline.core_records import CoreRecords
from support.core.core_bench import image
from support.programs.samples import BEGIN

__all__ = [
    "CONFIG",
    "FAULTY",
    "LIMIT",
    "PROGRAM",
    "ROOM",
    "SHORT",
    "retired_on_model",
    "run_recorded",
]

#: pc, word, mask, register in the core's numbering and its values in active threads, if any.
Instruction = tuple[int, int, int, int | None, list[int] | None]

CONFIG = small_config(warps=2, threads=4)
ROOM = 4096
#: More cycles than any program here takes.
LIMIT = 50_000
#: Every unit, loads and stores, divergence, a loop; each thread writes its own results.
PROGRAM = f"""{BEGIN}
        addi a0, s0, 3
        fcvt.s.w fa0, a0
        fmul.s fa1, fa0, fa0
        fmadd.s fa2, fa1, fa0, fa0
        fmadd.s fa3, fa2, fa1, fa0
        fdiv.s fa4, fa3, fa0
        frsqrt.s fa5, fa0
        fsw fa3, 0(s1)
        fsw fa4, 4(s1)
        lw a3, 0(s1)
        lw a4, 4(s1)
        div a5, a3, a0
        add a3, a3, a4
        sw a3, 8(s1)
        andi a1, s0, 1
        vx_split a2, a1, zero
        beqz a1, other
        addi a6, s0, 100
        j join
other:  slli a6, s0, 4
join:   vx_join a2
        sw a6, 12(s1)
        li a7, 5
loop:   addi a7, a7, -1
        sw a7, 16(s1)
        lw t2, 16(s1)
        bnez a7, loop
{END}
results: .word 0
"""
#: Program that is short enough for Amaranth's simulator.
SHORT = f"""{START}
        csrr s0, mhartid
        addi a0, s0, 3
        fcvt.s.w fa0, a0
        fmul.s fa1, fa0, fa0
        addi a1, s0, 4
        addi a3, s0, 5
        addi a4, s0, 6
        addi a5, s0, 7
        addi a2, s0, 5
        fmadd.s fa2, fa1, fa0, fa0
        la s1, results
        fsw fa2, 0(s1)
{END}
results: .word 0
"""
#: The program with a load from an unmapped address.
FAULTY = PROGRAM.replace("div a5, a3, a0", "lw a5, 0(zero)")


def run_recorded(
    text: str,
    config: MachineConfig,
    *,
    engine: str = "verilator",
    memory: CoreMemoryConfig | None = None,
    window: Window = (0, LIMIT),
) -> tuple[list[CoreRecords], ProgramOutcome]:
    """Run a program; return its records and its outcome."""
    with ProgramMachine(config, engine=engine, memory=memory, record=window, optimize=0) as machine:
        machine.write(ENTRY, image(text, ROOM))
        outcome = machine.run(LIMIT)
        records = machine.records()
    gc.collect()  # free unfinished testbenches before warnings are counted
    return records, outcome


def retired_on_model(config: MachineConfig, text: str) -> dict[int, list[Instruction]]:
    """Return the instructions that each warp of core 0 executes, in order: see `Told`."""
    iss = Iss(config)
    iss.write(ENTRY, image(text, ROOM))
    instructions: dict[int, list[Instruction]] = {warp: [] for warp in range(iss.core.warps)}
    runs = True
    while runs:
        steps = [(warp, iss.step(0, warp)) for warp in instructions]
        for warp, retired in steps:
            if retired is not None:
                instructions[warp].append(instruction_of(retired))
        runs = any(retired is not None for _, retired in steps)
    return instructions


def instruction_of(retired: Retired) -> Instruction:
    """Return the expected trace entry of an instruction."""
    register = values = None
    if retired.rd is not None:
        file, number = retired.rd
        register = number + 32 * (file is RegisterClass.FLOAT)
        values = [int(v) for lane, v in enumerate(retired.values) if retired.mask >> lane & 1]
    return retired.pc, retired.word, retired.mask, register, values
