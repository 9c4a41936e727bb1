"""Programs that command the DMA and the matrix unit, or access their registers only."""

import random

import numpy as np

from spica.hw.config import MachineConfig
from spica.hw.isa.commands import Function, rocc_word
from spica.hw.isa.memory_map import DMA, DMA_BASE, MATRIX, MATRIX_BASE, SHARED_BASE
from spica.sim.iss.program_bench import END, START

__all__ = ["alone", "cisc_program", "held_program", "mixed_program", "tile_program"]

#: Register operands in assembly, relative to s0 (DMA) and s1 (matrix unit).
NAMES = {f"dma_{name}": f"{register.offset}(s0)" for name, register in DMA.items()} | {
    f"matrix_{name}": f"{register.offset}(s1)" for name, register in MATRIX.items()
}


def alone(config: MachineConfig) -> str:
    """Return the start of a program that ends all cores except core 0."""
    window = SHARED_BASE + config.shared.size
    return f"""
        csrr t0, core_id
        beqz t0, alone
        vx_tmc zero
alone:  li s0, {window + DMA_BASE}
        li s1, {window + MATRIX_BASE}
"""


def store(name: str, value: int | str) -> str:
    """Return instructions that store a number, or the address of a label, to a register."""
    load = "la" if isinstance(value, str) else "li"
    return f"        {load} a0, {value}\n        sw a0, {NAMES[name]}\n"


def wait(label: str, name: str, branch: str, count: int) -> str:
    """Return instructions that poll a register while the branch on its value is taken."""
    poll = f"{label}: lw a0, {NAMES[name]}\n        {branch} a0, a1, {label}\n"
    return f"        li a1, {count}\n{poll}"


def load(local: int, label: str, rows: int, width: int) -> str:
    """Return instructions that start a dense load."""
    fields = {
        "dram": label, "dram_pitch": width, "local": local, "local_pitch": width,
        "shape": rows | width << 16, "fill": 0, "start": 0,
    }  # fmt: skip
    return "".join(store(f"dma_{name}", value) for name, value in fields.items())


def rocc(function: Function, rs1: int | str = 0, rs2: int | str = 0, rs2_high: int = 0) -> str:
    """Return instructions that issue a RoCC instruction to the matrix unit."""
    fields = {"rs1_low": rs1, "rs1_high": 0, "rs2_low": rs2, "rs2_high": rs2_high}
    fields["instruction"] = rocc_word(function)
    return "".join(store(f"matrix_{name}", value) for name, value in fields.items())


def words(values: np.ndarray) -> str:
    """Return an array as a data directive."""
    return ".word " + ", ".join(map(str, values.reshape(-1).view(np.uint32).tolist())) + "\n"


def zeros(count: int) -> str:
    """Return a data directive of `count` zero words."""
    return words(np.zeros(count, np.uint32))


def keep(place: int, *registers: str) -> str:
    """Return instructions that store unit registers in `kept`, from word `place` on."""
    reads = (
        f"        lw a0, {NAMES[name]}\n        sw a0, {4 * (place + n)}(a1)\n"
        for n, name in enumerate(registers)
    )
    return "        la a1, kept\n" + "".join(reads)


def tile_program(config: MachineConfig) -> str:
    """Return a program that multiplies two 4 x 4 matrices by register commands, and polls."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((4, 4)).astype(np.float16) for _ in range(2))
    return (
        alone(config)
        + load(0, "a", 4, 8)
        + load(64, "b", 4, 8)
        + rocc(Function.BOUNDS, 0, 1 | 1 << 16, 1)
        + rocc(Function.SPAD_AB, 0, (64 + 32) // 8)
        + rocc(Function.STRIDES_DC, 0, 4)
        + rocc(Function.ADDRESSES_DC, 0, "c")
        + wait("loaded", "dma_loads_done", "bltu", 2)
        + rocc(Function.LOOP_WS, 0, 0x2B8)
        + rocc(Function.LOOP_WS, 0, 0x78)
        + wait("done", "matrix_running", "bgtu", 0)
        + wait("idle", "dma_running", "bgtu", 0)
        + keep(0, "matrix_computes_done", "matrix_error", "dma_error", "dma_loads_done")
        + keep(4, "dma_shape", "matrix_rs2_low", "matrix_busy")
        + "        li a0, 63\n        csrw 0xACC, a0\n"
        + keep(7, "matrix_error", "matrix_error_word")
        + store("matrix_error", 0)
        + keep(9, "matrix_error")
        + END
        + "        .word 0\na: "
        + words(a)
        + "b: "
        + words(b)
        + f"c: {zeros(8)}kept: {zeros(16)}"
    )


def cisc_program(config: MachineConfig) -> str:
    """Return a program that multiplies by command words, written by register and by CSR."""
    m, n, k = config.units[0].tile
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))

    def by_csr(word: int) -> str:
        return f"        li a0, {word}\n        csrw 0xACC, a0\n"

    return (
        alone(config)
        + rocc(Function.ADDRESSES_AB, "a", "b")
        + rocc(Function.ADDRESSES_DC, 0, "c")
        + by_csr(8 | k << 8 | n << 20)
        + store("matrix_cisc", 11 | n << 20)
        + by_csr(10 | 0 << 8 | 11 << 16)
        + wait("loaded", "matrix_running", "bgtu", 0)
        + store("matrix_cisc", 0 | 0 << 8 | 11 << 16)
        + by_csr(12)
        + wait("done", "matrix_running", "bgtu", 0)
        + keep(0, "matrix_computes_done", "matrix_error", "dma_error", "matrix_error_word")
        + END
        + "        .word 0\na: "
        + words(a)
        + "b: "
        + words(b)
        + f"c: {zeros(m * n // 2)}kept: {zeros(16)}"
    )


#: Registers that keep any written value, one for each warp of the two cores.
RESTORED = ("dma_dram", "dma_local", "matrix_rs1_low", "matrix_rs2_high")


def mixed_program(config: MachineConfig, seed: int, steps: int) -> str:
    """Return a program that mixes register, DRAM and shared-memory accesses at random.

    Each warp has its own register, and each thread its own words in DRAM and shared memory.
    """
    rng, window = random.Random(seed), SHARED_BASE + config.shared.size
    bases = "".join(
        f"        li a{n}, {window + (DMA_BASE if name.startswith('dma') else MATRIX_BASE)}\n"
        f"        addi a{n}, a{n}, {(DMA | MATRIX)[name.split('_', 1)[1]].offset}\n"
        for n, name in enumerate(RESTORED)
    )
    text = f"""{START}
{bases}
        csrr t0, core_id
        csrr t1, warp_id
        slli t0, t0, 1
        add t0, t0, t1          # 0 to 3
        mv s0, a0
        li t2, 1
        bne t0, t2, not_1
        mv s0, a1
not_1:  li t2, 2
        bne t0, t2, not_2
        mv s0, a2
not_2:  li t2, 3
        bne t0, t2, not_3
        mv s0, a3
not_3:  csrr t3, mhartid
        slli t4, t3, 6
        la s1, room
        add s1, s1, t4
        li s2, {SHARED_BASE}
        add s2, s2, t4
        li s3, 1
        slli s4, t3, 8
"""
    text += "".join(f"        sw zero, {4 * n}(s2)\n" for n in range(16))
    for _ in range(steps):
        place, base = 4 * rng.randrange(16), rng.choice(["s1", "s2"])
        text += rng.choice([
            f"        addi s4, s4, {rng.randrange(1, 2000)}\n        sw s4, 0(s0)\n",
            "        lw s3, 0(s0)\n        add s4, s4, s3\n",
            f"        lw s3, 0(s0)\n        sw s3, {place}({base})\n",
            f"        sw s4, {place}({base})\n",
            f"        lw s3, {place}({base})\n        xor s4, s4, s3\n",
        ])
    return f"""{text}
        sw s4, 0(s1)
        sw s4, 0(s2)
        lw s4, 4(s2)
        sw s4, 4(s1)
        {END}
        .word 0
room:   {zeros(128)}
"""


def held_program(config: MachineConfig, loads: int, rounds: int) -> str:
    """Return a program whose first warp starts loads until the queue stalls it; others count."""
    starts = "".join(store("dma_local", 512 * n) + store("dma_start", 0) for n in range(1, loads))
    return f"""
        csrr t0, core_id
        bnez t0, end
        li t0, 2
        la t1, count
        vx_wspawn t0, t1
        li s0, {SHARED_BASE + config.shared.size + DMA_BASE}
{load(0, "source", 8, 64)}
{starts}
{wait("loaded", "dma_loads_done", "bltu", loads)}
        la a1, kept
        sw a0, 0(a1)
        li a2, {SHARED_BASE}
        lw a0, 4(a2)
        sw a0, 4(a1)
end:    vx_tmc zero
count:  la a1, kept
        li a2, {rounds}
        li a3, 0
        li a4, {SHARED_BASE + 8192}
        sw zero, 0(a4)
again:  lw a0, 8(a1)
        addi a0, a0, 1
        sw a0, 8(a1)
        lw a0, 0(a4)
        addi a0, a0, 3
        sw a0, 0(a4)
        addi a2, a2, -1
        bnez a2, again
        sw a0, 12(a1)
        vx_tmc zero
        .word 0
source: {words(np.arange(128, dtype=np.uint32))}
kept:   .word 0, 0, 0, 0
"""
