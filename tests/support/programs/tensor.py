"""Programs with tensor instructions: fragments in registers, and instructions around them."""

import random
from collections.abc import Sequence

import numpy as np

__all__ = ["random_lines", "tensor_program"]

BEGIN = """
        li t0, {warps}
        la t1, body
        vx_wspawn t0, t1
body:   li t0, -1
        vx_tmc t0
{prologue}
        csrr t0, mhartid
        slli t0, t0, 7
        la t1, data
        add t1, t1, t0
"""
END = """
        li t0, -1
        vx_tmc t0
        {stores}
        vx_tmc zero
{data}
data:   .word {words}
"""


def tensor_program(
    lines: Sequence[str], registers: np.ndarray, *, prologue: str = "", data: str = ""
) -> str:
    """Return a program of several warps: loads all float registers, runs `lines`, stores them.

    Parameters
    ----------
    lines : sequence of str
        Instructions; t1 is the address of the thread's 32 words. They may use t0 and the masks.
    registers : array of (warps, 32, 8) words
        Float registers of each warp before; their number is that of the warps that run.
    prologue : str
        Instructions of every warp before the others.
    data : str
        Data in front of the registers, which end the program.

    """
    loads = [f"flw f{k}, {4 * k}(t1)" for k in range(32)]
    stores = [f"fsw f{k}, {4 * k}(t1)" for k in range(32)]
    words = np.swapaxes(registers, 1, 2).ravel().tolist()
    return (
        BEGIN.format(warps=len(registers), prologue=prologue)
        + "\n".join(f"        {line}" for line in (*loads, *lines))
        + END.format(stores="\n        ".join(stores), data=data, words=", ".join(map(str, words)))
    )


def random_lines(rng: random.Random, count: int) -> list[str]:
    """Return random instructions: many products, and others that touch the same registers."""
    lines = []
    for _ in range(count):
        kind = rng.choice(
            ["hmma"] * 4 + ["copy", "copy", "sum", "load", "store", "mask", "integer"]
        )
        a, b, c = (rng.randrange(32) for _ in range(3))
        lines += {
            "hmma": ["li t0, -1", "vx_tmc t0", f"hmma x{rng.randrange(2)}"],
            "copy": [f"fsgnj.s f{a}, f{b}, f{b}"],
            "sum": [f"fmadd.s f{a}, f{b}, f{c}, f{a}"],
            "load": [f"flw f{a}, {4 * b}(t1)"],
            "store": [f"fsw f{a}, {4 * b}(t1)"],
            "mask": [f"li t0, {rng.randint(1, 255)}", "vx_tmc t0"],
            "integer": ["add t2, t1, t0", "mul t3, t2, t2"],
        }[kind]
    return lines
