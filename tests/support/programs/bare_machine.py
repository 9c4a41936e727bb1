"""Programs for the bare machine mode of RISC-V, as riscv-tests build them in environment ``p``.

The start-up code follows that environment: it clears the registers, parks all harts but hart 0,
writes the registers of machine mode, and jumps to the test by ``mret``. A test ends with ``ecall``
and in gp twice the number of the test that failed plus 1, so 1 if none did.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from spica.base.zig import zig_environment

__all__ = ["built", "environment_program", "linked"]

FLAGS = (
    *("-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m+f", "-mabi=ilp32f"),
    *("-g0", "-nostdlib", "-static", "-fno-sanitize=all"),
)
LAYOUT = """
ENTRY(_start)
SECTIONS
{
    . = 0x80000000;
    .text.init : { *(.text.init) }
    . = 0x80002000;
    .tohost : { *(.tohost) }
    . = 0x80003000;
    .text : { *(.text) }
    .data : ALIGN(4096) { *(.data) }
}
"""
START = """
    .section .text.init
    .globl _start
_start:
    j reset
    .balign 4
traps:
    sw gp, tohost, t5
    j traps
reset:
    CLEARED
    csrr a0, mhartid
1:  bnez a0, 1b
    la t0, 1f
    csrw mtvec, t0
    csrwi 0x744, 8
1:  csrwi satp, 0
    li t0, 0x7fffffff
    csrw pmpaddr0, t0
    li t0, 0x1f
    csrw pmpcfg0, t0
    csrwi mie, 0
    csrwi medeleg, 0
    csrwi mideleg, 0
    la t0, traps
    csrw mtvec, t0
    csrwi mstatus, 0
    li a0, 0x2000
    csrs mstatus, a0
    csrwi fcsr, 0
    la t0, begin
    csrw mepc, t0
    csrr a0, mhartid
    mret
    .section .text
begin:
TEST
    fence
    li gp, 1
    li a7, 93
    li a0, 0
    ecall
fail:
    fence
    sll gp, gp, 1
    or gp, gp, 1
    ecall
    unimp
    .section .tohost, "aw", @progbits
    .balign 64
    .globl tohost
tohost: .dword 0
    .section .data
    .balign 4
data: .word 0x00ff00ff
"""


def environment_program(test: str) -> str:
    """Return the assembly of a program around a test, which branches to ``fail`` if it fails."""
    cleared = "\n".join(f"    li x{number}, 0" for number in range(1, 32))
    return START.replace("    CLEARED", cleared).replace("TEST", test)


def built(folder: Path, text: str) -> Path:
    """Return the ELF file of a program in assembly."""
    source, layout = folder / "test.S", folder / "test.ld"
    source.write_text(text)
    layout.write_text(LAYOUT)
    return linked(source, layout, folder / "test.elf")


def linked(source: Path, layout: Path, target: Path, includes: Sequence[Path] = ()) -> Path:
    """Return the ELF file of a source in assembly, with this linker script."""
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        *FLAGS,
        *(f"-I{folder}" for folder in includes),
    ]
    done = subprocess.run(
        [*command, f"-Wl,-T,{layout}", str(source), "-o", str(target)],
        capture_output=True,
        text=True,
        check=False,
        env=zig_environment(),
    )
    assert not done.returncode, done.stderr
    return target
