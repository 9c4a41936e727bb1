"""Random accesses of all threads of several clusters to words of their own, everywhere."""

import random

__all__ = ["random_accesses"]

#: Bases of words of a thread: windows of three clusters, of a cluster by the lane, memory of its
#: own cluster, DRAM.
BASES = ("a2", "a3", "a4", "a5", "a6", "a7")
STORES = {"sw": 4, "sh": 2, "sb": 1}
LOADS = {"lw": 4, "lh": 2, "lhu": 2, "lb": 1, "lbu": 1}
#: Bytes of each thread at each base.
OWN_BYTES = 16
#: All threads of all warps; the words of a thread follow its number in the machine.
BEGIN = """
        csrr t0, num_warps
        la t1, body
        vx_wspawn t0, t1
body:   li t0, -1
        vx_tmc t0
        csrr s0, mhartid
        mv s1, s0
        slli t1, s0, 4
        li t2, {windows}
        add a2, t1, t2
        li t3, 0x100000
        add a3, a2, t3
        add a4, a3, t3
        csrr t4, thread_id
        csrr t5, {num_clusters}
        remu t4, t4, t5
        slli t4, t4, 20
        add a5, a2, t4
        li t2, {shared}
        add a6, t1, t2
        li t3, 0x800             # words that no thread accesses through a window
        add a6, a6, t3
        li t2, {results}
        add a7, t1, t2
"""
END = """
        sw s1, 0(a7)
        fence rw, rw
        vx_tmc zero
"""


def random_accesses(seed: int, count: int) -> str:
    """Return a program for three clusters with `count` random loads and stores of each thread."""
    rng = random.Random(seed)
    lines = [f"sw s0, {word}({base})" for base in BASES for word in range(0, OWN_BYTES, 4)]
    loaded = ["t2", "t3", "t4", "t5", "t6"]
    for _ in range(count):
        base, is_store = rng.choice(BASES), rng.random() < 0.5
        name, size = rng.choice(list((STORES if is_store else LOADS).items()))
        place = rng.randrange(0, OWN_BYTES, size)
        register = "s1" if is_store else rng.choice(loaded)
        lines.append(f"{name} {register}, {place}({base})")
        if rng.random() < 0.2:
            lines.append(f"add s1, s1, {rng.choice(loaded)}")
        elif rng.random() < 0.03:
            lines.append("fence rw, rw")
    begin = [f"lw {register}, 0(a2)" for register in loaded]
    whole = [*lines[:24], *begin, *lines[24:]]
    return BEGIN + "\n".join(whole) + END
