"""Programs with tensor instructions on operands in shared memory, and instructions around them."""

import random
from collections.abc import Sequence

import numpy as np

from spica.hw.isa.memory_map import SHARED_BASE
from support.programs.tensor import tensor_program

__all__ = ["PLACES", "hgmma_program", "random_lines"]

#: Operands that the program copies to shared memory, and their first bytes there.
OPERANDS = 8
PLACES = tuple(SHARED_BASE + 1024 * number for number in range(OPERANDS))
#: Activates all threads of a warp, as products need.
WHOLE = ("li t0, -1", "vx_tmc t0")
#: Copies the pool to shared memory, a part by each thread.
COPY = """
        csrr t0, mhartid
        slli t2, t0, 2
        la t1, pool
        add t1, t1, t2
        li t3, {shared}
        add t3, t3, t2
        li t4, {turns}
copy:   lw t5, 0(t1)
        sw t5, 0(t3)
        addi t1, t1, {stride}
        addi t3, t3, {stride}
        addi t4, t4, -1
        bne t4, zero, copy
        fence 15, 15
        li t4, 0
        li t5, {warps}
        vx_bar t4, t5
"""


def hgmma_program(lines: Sequence[str], pool: np.ndarray, registers: np.ndarray) -> str:
    """Return a program of several warps of one core.

    It copies the operands to shared memory, loads all float registers, runs `lines`, and stores
    the registers.

    Parameters
    ----------
    lines : sequence of str
        Instructions; t1 is the address of the thread's 32 words. They may use t0, t2, t3 and a0 to
        a7, and change the mask.
    pool : array
        Bytes of the operands, (OPERANDS, 1024).
    registers : array
        Float registers of each warp before, (warps, 32, 8) words; the number of warps is a power of
        two.

    """
    warps = len(registers)
    copy = COPY.format(
        warps=warps,
        shared=f"{SHARED_BASE:#x}",
        turns=OPERANDS * 256 // (8 * warps),
        stride=4 * 8 * warps,
    )
    numbers = np.ascontiguousarray(pool).view(np.uint32).ravel().tolist()
    data = f"pool:   .word {', '.join(map(str, numbers))}"
    return tensor_program(lines, registers, prologue=copy, data=data)


def random_lines(rng: random.Random, count: int) -> list[str]:
    """Return random instructions: many products, waits, and others that touch their registers."""
    lines, is_pending = [], False
    for _ in range(count):
        kind = rng.choice(["product"] * 3 + ["wait", "copy", "sum", "load", "mask", "integer"])
        if kind == "wait" and not is_pending:
            continue
        a, b, c = (rng.randrange(32) for _ in range(3))
        places = rng.sample(PLACES, 2)
        lines += {
            "product": [
                *(f"li a{k}, {place:#x}" for k, place in enumerate(places)),
                *WHOLE,
                "hgmma a0, a1",
            ],
            "wait": [*WHOLE, "hgmma_wait"],
            "copy": [f"fsgnj.s f{a}, f{b}, f{b}"],
            "sum": [f"fmadd.s f{a}, f{b}, f{c}, f{a}"],
            "load": [f"flw f{a}, {4 * b}(t1)"],
            "mask": [f"li t0, {rng.randint(1, 255)}", "vx_tmc t0"],
            "integer": ["add t2, t1, t0", "mul t3, t2, t2", "lw t2, 0(t1)"],
        }[kind]
        is_pending = kind == "product" or (is_pending and kind != "wait")
    return [*lines, *([*WHOLE, "hgmma_wait"] if is_pending else [])]
