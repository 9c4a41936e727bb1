"""Small programs of cores that command the DMA, meet at barriers, print, and mark sections."""

import numpy as np

from spica.hw.config import MachineConfig
from spica.hw.isa.memory_map import CONSOLE_BASE, DMA, DMA_BASE, ENTRY, SHARED_BASE
from spica.kernels.commands import CommandList
from spica.sim.machine.program_machine import ProgramMachine
from support.core.core_bench import image

__all__ = [
    "DATA",
    "FLAGS",
    "LOADED",
    "ROOM",
    "SOURCE",
    "TARGET",
    "WORDS",
    "host_loads",
    "place",
    "unit_program",
]

#: Bytes of DRAM from `ENTRY` on that a program may access.
ROOM = 8192
#: Offsets from `ENTRY` of the words to load and of the stored words, and their number.
SOURCE, TARGET, WORDS = 4096, 6144, 64
DATA = 7 * np.arange(WORDS, dtype=np.uint32) + 5
#: Offset of the loaded words in shared memory.
LOADED = 256
#: Offset in shared memory of the flag that cores poll.
FLAGS = 1024

#: Core 0 lets the DMA load words, adds them up, changes them, and lets it store them; all others
#: end at once. Result in gp: on core 0 the sum before and after, on others 0.
DMA_PROGRAM = """
        csrr t0, core_id
        bnez t0, end
        slti x0, x1, -1047
        li s0, {dma}
        li s1, {source}
        sw s1, {dram}(s0)
        li t1, 64
here:   sw t1, {dram_pitch}(s0)
        sw t1, {local_pitch}(s0)
        li t1, {loaded}
        sw t1, {local}(s0)
        li t1, {shape_value}
        sw t1, {shape}(s0)
        sw zero, {fill}(s0)
        sw zero, {start}(s0)
load:   lw t2, {loads_done}(s0)
        beqz t2, load
        li gp, 0
        li a0, {near}
        li a1, {words}
sum:    lw a2, 0(a0)
        add gp, gp, a2
        addi a2, a2, 3
        sw a2, 0(a0)
        addi a0, a0, 4
        addi a1, a1, -1
        bnez a1, sum
        fence 3, 3
        li s1, {target}
        sw s1, {dram}(s0)
        li t1, 1
        sw t1, {start}(s0)
store:  lw t2, {stores_done}(s0)
        beqz t2, store
        li a1, {words}
again:  lw a2, 0(s1)
        add gp, gp, a2
        addi s1, s1, 4
        addi a1, a1, -1
        bnez a1, again
        slti x0, x1, -499
        vx_tmc zero
end:    li gp, 0
        vx_tmc zero
"""

#: Core 0 clears a flag, and all meet at a barrier. Core 0 writes words to DRAM and shared memory
#: and sets the flag; all others poll it and read them. All meet again and print, and core 0 sends
#: a command word to the matrix unit.
MEETING_PROGRAM = """
        csrr s2, core_id
        li s0, {flags}
        li s1, {target}
        li s3, {console}
        li t1, 1
        sw zero, 0(s0)
        fence 3, 3
        vx_bar zero, t1
        bnez s2, other
        li a0, 77
        sw a0, 0(s1)
        sw a0, 4(s0)
        fence 3, 3
        li a1, 0x5A5A
        sw a1, 0(s0)
        j meet
other:  li a1, 0x5A5A
wait:   lw a0, 0(s0)
        bne a0, a1, wait
        lw a0, 0(s1)
        lb a2, 4(s0)
        add a0, a0, a2
meet:   mv gp, a0
        vx_bar zero, t1
        addi a3, s2, 65
        sb a3, 0(s3)
        addi a3, a3, 32
        sb a3, 0(s3)
        bnez s2, end
        li a4, 127
here:   csrw 0xACC, a4
end:    vx_tmc zero
"""

#: Core 0 waits for the data of the host's DMA job, in shared memory and then in DRAM, where a
#: fence makes it visible.
HOST_PROGRAM = """
        li gp, 0
        csrr s2, core_id
        bnez s2, end
        li s0, {near}
        li s3, {dma}
wait:   lw a0, {loads_done}(s3)
        beqz a0, wait
        lw a2, 252(s0)
        lw gp, 0(s0)
        add gp, gp, a2
        li s1, {target}
back:   fence 3, 3
        lw a0, 252(s1)
        bne a0, a2, back
        lw a0, 4(s1)
        add gp, gp, a0
end:    vx_tmc zero
"""

PROGRAMS = {"dma": DMA_PROGRAM, "meeting": MEETING_PROGRAM, "host": HOST_PROGRAM}


def unit_program(name: str, config: MachineConfig, entry: int) -> str:
    """Return a program for a cluster, to be placed at `entry`."""
    window = SHARED_BASE + config.shared.size
    registers = {register: DMA[register].offset for register in DMA}
    return PROGRAMS[name].format(
        **registers,
        dma=window + DMA_BASE,
        source=entry + SOURCE,
        target=entry + TARGET,
        loaded=LOADED,
        near=SHARED_BASE + LOADED,
        flags=SHARED_BASE + FLAGS,
        words=WORDS,
        shape_value=(64 << 16) | WORDS // 16,
        console=CONSOLE_BASE,
    )


def host_loads(entry: int) -> CommandList:
    """Return host commands that load the words and store them again."""
    commands = CommandList()
    for name, value in (
        ("dram", entry + SOURCE),
        ("dram_pitch", 64),
        ("local", LOADED),
        ("local_pitch", 64),
        ("shape", (64 << 16) | WORDS // 16),
        ("fill", 0),
        ("start", 0),
    ):
        commands.write(DMA_BASE + DMA[name].offset, value)
    commands.wait_reached(DMA_BASE + DMA["loads_done"].offset, 1)
    commands.write(DMA_BASE + DMA["dram"].offset, entry + TARGET)
    commands.write(DMA_BASE + DMA["start"].offset, 1)
    commands.wait_reached(DMA_BASE + DMA["stores_done"].offset, 1)
    return commands


def place(machine: ProgramMachine, text: str) -> None:
    """Write a program and the words to load to a machine; the next run starts from reset."""
    machine.begins = True
    machine.write(ENTRY, image(text, ROOM))
    machine.write(ENTRY + SOURCE, DATA)
