"""Tests of the size of stacks: option of a program, limit in reports, programs from elsewhere."""

import struct

import numpy as np
import pytest

import spica
from spica.base.errors import MachineError, UserError
from spica.hw.isa.memory_map import STACK_TOP
from spica.hw.isa.program import assemble_program
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.program import Program
from spica.sim.machine.stacks import require_stack_bytes
from support.command_line import run_spica

TINY = PRESETS["tiny"]
THREADS = TINY.cores * TINY.core.warps * TINY.core.threads
#: Each thread stores its stack pointer; main first fills `bytes` of its own, 64 at a time.
SOURCE = """
#include <spica.h>
typedef struct { uint32_t bytes; uint32_t *found; } Arguments;
static void look(void *argument)
{
    uint32_t pointer;
    __asm__ volatile("mv %0, sp" : "=r"(pointer));
    ((const Arguments *)argument)->found[vx_hart_id()] = pointer;
}
__attribute__((noinline)) static uint32_t fill(volatile uint32_t *before, uint32_t bytes)
{
    volatile uint32_t kept[12];
    kept[0] = bytes;
    return bytes < 128 ? before[0] : fill(kept, bytes - 64) + kept[0];
}
int main(void)
{
    Arguments *given = (Arguments *)spica_arguments();
    uint32_t first = 0;
    fill(&first, given->bytes);
    spica_launch(look, given);
    return 0;
}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "stacks.c"
    path.write_text(SOURCE)
    return path


def run(path, used, **options):
    machine = spica.Machine("tiny", engine="iss")
    return machine.run(path, args=[used, np.zeros(THREADS, np.uint32)], **options)[1]


@pytest.mark.parametrize("size", [None, 1024, 8208, 65536])
@pytest.mark.quick(1)
def test_stacks_are_as_far_apart_as_they_are_large(source, size):
    size = size or 8192
    options = {} if size == 8192 else {"stack_bytes": size}
    tops = [STACK_TOP - size * hart for hart in range(THREADS)]
    stacks = run(source, size - 256, **options)
    # Thread 0 of warp 0 keeps the frame of main.
    per_core = THREADS // TINY.cores
    for hart, top in enumerate(tops):
        assert stacks[hart] == top or (hart % per_core == 0 and top - 256 < stacks[hart] < top)


def test_a_stack_is_limited_to_its_own_size(source):
    assert run(source, 12_000, stack_bytes=16384).any()
    with pytest.raises(MachineError, match="stack exceeded") as caught:
        run(source, 12_000)
    assert "thread's stack of 8192 bytes" in " ".join(str(caught.value).split())
    with pytest.raises(MachineError, match="stack exceeded") as caught:
        run(source, 2_000, stack_bytes=1024)
    words = " ".join(str(caught.value).split())
    assert "thread's stack of 1024 bytes" in words and "below the stack of 1,024 bytes" in words


@pytest.mark.parametrize("size", [0, -16, 8200, 48, 1 << 31])
def test_sizes_that_are_refused(source, size):
    with pytest.raises(UserError, match="stack bytes of a thread must be a multiple of 16 from 64"):
        run(source, 16, stack_bytes=size)
    with pytest.raises(UserError, match=f"on this machine, not {size:,}"):
        require_stack_bytes(TINY, size)


def test_the_command_line(source, capsys):
    command = f"run {source} --preset tiny --engine iss --stack-bytes"
    assert run_spica(f"{command} 100") == 2
    assert capsys.readouterr().err == (
        "spica: stack bytes of a thread must be a multiple of 16 from 64 to "
        f"{(STACK_TOP - 0xC000_0000) // THREADS // 16 * 16:,} on this machine, not 100\n"
    )


def test_a_compiled_program_knows_its_stacks(source):
    built = compile_program([source], TINY, stack_bytes=1024)
    assert Program.load(built).symbols["spica_stack_bytes"] == 1024
    with pytest.raises(UserError, match="compiled for stacks of 1,024 bytes, not 8,208"):
        run(built, 16, stack_bytes=8208)
    assert run(built, 16)[1] == STACK_TOP - 1024
    with pytest.raises(MachineError, match="stack of 1024 bytes"):
        run(built, 2_000)


def elf_of(text, path):
    """Write an ELF file with one segment and no sections."""
    code = assemble_program(text).data
    header = struct.pack(
        "<4s12sHHIIIIIHHHHHH",
        *(b"\x7fELF", bytes((1, 1, 1)).ljust(12, b"\0"), 2, 243, 1, 0x8000_0000),
        *(52, 0, 0, 52, 32, 1, 0, 0, 0),
    )
    segment = struct.pack("<8I", 1, 84, 0x8000_0000, 0x8000_0000, len(code), len(code), 7, 4)
    path.write_bytes(header + segment + code)
    return path


#: Start-up as in programs of Vortex v2: stacks 8208 bytes apart, those of all threads of a warp.
OTHER = f"""
    li t0, -1
    vx_tmc t0
    csrr t0, mhartid
    li t1, 8208
    mul t0, t0, t1
    li sp, {STACK_TOP}
    sub sp, sp, t0
    addi sp, sp, -16
    sw t0, 0(sp)
    li t1, DISTANCE
    sub sp, sp, t1
    sw t0, 0(sp)
    li gp, 0
    vx_tmc zero
"""


@pytest.mark.parametrize(
    ("distance", "size", "stops"),
    [(8192, 8208, False), (8208, 8208, True), (16, None, False), (8208, None, False)],
)
def test_stacks_of_programs_from_elsewhere(tmp_path, distance, size, stops):
    """Only with the option their limit is known."""
    path = elf_of(OTHER.replace("DISTANCE", str(distance)), tmp_path / "other.elf")
    machine = spica.Machine("tiny", engine="iss")
    if not stops:
        machine.run(path, stack_bytes=size)
        return
    with pytest.raises(MachineError, match="16 bytes below the thread's stack of 8208 bytes"):
        machine.run(path, stack_bytes=size)
