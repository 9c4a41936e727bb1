"""Corner-case programs of loads, stores, branches, jumps and control registers."""

import random
from collections.abc import Iterator

from spica.hw.config import MachineConfig
from spica.hw.isa.csr import COUNTER_NUMBERS, CSRS
from spica.hw.isa.memory_map import SHARED_BASE
from spica.sim.iss.program_bench import END, START
from support.programs.corner_operands import FLOAT_CLASSES, INTEGERS
from support.programs.placed_program import PlacedProgram

__all__ = ["branch_program", "memory_program", "register_program"]

#: Data of each thread, and data shared by the threads of a warp.
OWN, SHARE = 0x8010_0000, 0x8020_0000
OWN_SHIFT, SHARE_SHIFT = 12, 8
LOADS = {"lb": 1, "lbu": 1, "lh": 2, "lhu": 2, "lw": 4, "flw": 4}
STORES = {"sb": 1, "sh": 2, "sw": 4, "fsw": 4}
BRANCHES = ("beq", "bne", "blt", "bge", "bltu", "bgeu")
#: Control registers with time-dependent values, besides the counters.
TIMING = ("warp_mask",)


def hart_width(config: MachineConfig) -> int:
    """Return the bits of a hart's index."""
    assert config.core is not None
    return (config.cores - 1).bit_length() + config.core.warp_width + config.core.thread_width


def own_base(register: str, base: int, shift: int, hart: str = "s11") -> list[str]:
    """Return instructions that compute the base address of a hart's data."""
    return [
        f"slli t0, {hart}, {shift}",
        f"li {register}, {base}",
        f"add {register}, {register}, t0",
    ]


def accesses(base: str, lowest: int, rng: random.Random) -> Iterator[str]:
    """Return loads and stores of every size at every position in a word.

    Odd bases are compensated by the offset; `lowest` is the smallest offset.
    """
    offsets = [lowest, lowest + 4, 0, 4, 40]
    for odd in (0, 1, 2, 3):
        yield f"addi t1, {base}, {odd}"
        for name, size in (*STORES.items(), *LOADS.items()):
            file = "f" if name in ("flw", "fsw") else ""
            for byte in range(0, 4, size):
                offset = rng.choice(offsets) + byte - odd
                if offset - byte < -2048:
                    offset += 8
                if name in LOADS:
                    yield f"{name} {file}t2, {offset}(t1)"
                else:
                    yield f"{name} {file}{rng.choice(('a0', 'a1'))}, {offset}(t1)"
                    yield f"lw t2, {offset - byte}(t1)"


def memory_program(config: MachineConfig, *, seed: int = 1) -> PlacedProgram:
    """Return a program of loads and stores to private and shared data of the threads."""
    core = config.core
    assert core is not None
    rng = random.Random(seed)
    width = hart_width(config)
    shift = min(6, config.shared.size.bit_length() - 1 - width)
    lines = [START, "li gp, 5", "csrr s11, mhartid", *own_base("s0", OWN + 2048, OWN_SHIFT)]
    lines += [f"srli s10, s11, {core.thread_width}", *own_base("s1", SHARE, SHARE_SHIFT, "s10")]
    lines += [*own_base("s2", SHARED_BASE, shift), "lw a0, 0(s0)", "lw a1, 4(s0)"]
    lines += ["flw fa0, 8(s0)", "flw fa1, 12(s0)"]
    lines += accesses("s0", -2048, rng)
    lines += ["sw a0, -2048(s0)", "lw t2, -2048(s0)", "sw a1, 2044(s0)", "lw t2, 2044(s0)"]
    # Shared memory; and a warp's threads to one word, where the highest thread's value remains.
    lines += ["sw a0, 0(s2)", "sh a1, 2(s2)", "sb a0, 1(s2)", "lw t2, 0(s2)", "lb t2, 3(s2)"]
    for name, place in (("sw", 0), ("sh", 6), ("sb", 9)):
        lines += [f"{name} a0, {place}(s1)", f"lw t2, {place & -4}(s1)"]
    # Bytes of all threads side by side, in words that others write as well.
    lines += ["csrr t3, thread_id", "add t4, s1, t3", "sb a1, 64(t4)", "lw t2, 64(s1)"]
    # Base, data and destination may be the same register, or x0.
    lines += ["sw s0, 16(s0)", "mv t5, s0", "lw t5, 16(t5)", "lbu t5, 17(t5)", "lw zero, 0(s0)"]
    lines += [
        "sw zero, 20(s0)",
        "lw t2, 20(s0)",
        "sb zero, 1(s0)",
        "lw t2, 0(s0)",
        "add t2, t2, t5",
    ]
    lines += ["fence iorw, iorw", "fence r, w", "lw t2, 4(s0)", "fence.i", "lh t2, 6(s0)", END]
    words = [rng.choice((*INTEGERS, *FLOAT_CLASSES)) for _ in range(1 << width + OWN_SHIFT - 2)]
    data = b"".join(word.to_bytes(4, "little") for word in words)
    regions = (
        (OWN, len(data)),
        (SHARE, 1 << width + SHARE_SHIFT),
        (SHARED_BASE, 1 << width + shift),
    )
    return PlacedProgram("\n".join(lines), ((OWN, data),), regions)


def branches(label: str, name: str, a: str, b: str) -> list[str]:
    """Return a forward and a backward branch, with counters of the taken ones."""
    return [
        f"{name} {a}, {b}, {label}forward", "addi s2, s2, 1",
        f"{label}forward: addi s3, s3, 1", f"j {label}begin",
        f"{label}back: addi s4, s4, 1", f"j {label}end",
        f"{label}begin: {name} {a}, {b}, {label}back", "addi s5, s5, 1",
        f"{label}end: add s6, s6, s5",
    ]  # fmt: skip


def jumps() -> list[str]:
    """Return jumps by register: to odd addresses, over negative distances, back and forth."""
    return [
        "la t0, jump1", "jalr ra, 1(t0)", "addi s2, s2, 1", "jump1: add s2, s2, ra",
        "la t0, jump2", "addi t0, t0, 2047", "jalr t0, -2046(t0)", "addi s2, s2, 1",
        "jump2: add s2, s2, t0",
        "la t0, jump3", "addi t0, t0, -2047", "jalr zero, 2047(t0)", "addi s2, s2, 1",
        "jump3: jal t0, jump5", "jump4: add s2, s2, t0", "j jump6",
        "jump5: jal zero, jump4", "addi s2, s2, 1",
        "jump6: la t0, jump7", "call jump8", "jump7: jalr zero, 0(t1)", "jump8: mv t1, ra",
        "la t2, jump9", "add t1, zero, t2", "ret", "addi s2, s2, 1", "jump9: auipc s3, 0",
    ]  # fmt: skip


def branch_program(config: MachineConfig, *, rounds: int = 40, seed: int = 1) -> PlacedProgram:
    """Return a program of branches and jumps with operands that are uniform within a warp."""
    rng = random.Random(seed)
    lines = [START, "li gp, 6", *(f"li s{k}, 0" for k in range(2, 7)), f"li s1, {OWN}"]
    lines += ["csrr t0, warp_id", "slli t0, t0, 3", "add s1, s1, t0", f"li s0, {rounds}"]
    lines += ["loop: lw a0, 0(s1)", "lw a1, 4(s1)"]
    for name in BRANCHES:
        for number, (a, b) in enumerate((
            ("a0", "a1"),
            ("a0", "a0"),
            ("zero", "a1"),
            ("a0", "zero"),
        )):
            lines += branches(f"{name}{number}", name, a, b)
    lines += [*jumps(), "addi s1, s1, 8", "addi s0, s0, -1", "beqz s0, end", "j loop"]
    lines += [f"end: {END.strip()}"]
    assert config.core is not None
    words = [rng.choice(INTEGERS) for _ in range(2 * (rounds + config.core.warps))]
    # Some neighbours are equal, so that every branch goes both ways.
    words = [words[k - 1] if k % 6 == 5 else word for k, word in enumerate(words)]
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return PlacedProgram("\n".join(lines), ((OWN, data),), ((OWN, len(data)),))


def register_program(config: MachineConfig, *, counters: bool = True) -> PlacedProgram:
    """Return a program that accesses every control register in every way.

    Without `counters`, time-dependent ones are omitted.
    """
    lines = [START, "li gp, 7", "csrr s0, mhartid", "andi s1, s0, 1"]
    numbers = {csr.number for name, csr in CSRS.items() if name not in TIMING}
    every = {number for some in COUNTER_NUMBERS for number in some}
    for number in sorted(numbers - every):
        lines += [
            f"csrrs a0, {number}, zero",
            f"csrrc a1, {number}, zero",
            f"csrrsi a2, {number}, 0",
        ]
        lines += [f"csrrci a3, {number}, 0"]
    if counters:
        lines += [f"csrrs a0, {number}, zero" for number in sorted(every)]
        lines += [f"csrr a0, {name}" for name in TIMING]
    for name in (name for name, csr in CSRS.items() if csr.access in ("read-write", "ignored")):
        lines += ["li a0, -1", f"csrrw a1, {name}, a0", f"csrrw a0, {name}, s0"]
        lines += [f"csrrs a1, {name}, s1", f"csrrc a2, {name}, a1", f"csrrw zero, {name}, zero"]
        lines += [f"csrrs zero, {name}, a0", f"csrrc zero, {name}, s1", f"csrrwi a3, {name}, 21"]
        lines += [f"csrrsi a4, {name}, 10", f"csrrci a5, {name}, 3", f"csrrwi zero, {name}, 31"]
        lines += [f"csrr a6, {name}", f"csrrci zero, {name}, 31", f"csrrw s0, {name}, s0"]
        lines += [f"csrrw zero, {name}, zero", "csrr s0, mhartid", "csrr a7, fcsr"]
    # Accrued flags belong to the warp, not to the thread that raised them.
    lines += ["csrwi fflags, 0", "fcvt.s.w fa0, s0", "fcvt.s.w fa1, zero", "fdiv.s fa2, fa0, fa1"]
    lines += ["csrr a0, fflags", "csrrw a0, mscratch, s0", "csrrw a0, mscratch, s0", END]
    return PlacedProgram("\n".join(lines))
