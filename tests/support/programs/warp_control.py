"""Corner-case programs of warp control: masks, divergence, warp starts, barriers."""

import random

from spica.hw.config import MachineConfig
from spica.sim.iss.program_bench import END, START
from support.programs.placed_program import PlacedProgram

__all__ = ["changed_code_program", "control_program", "nest", "rejoin_program", "spawn_program"]


def nest(threads: int, is_in_then: bool) -> list[str]:
    """Return splits nested as deep as possible; one thread leaves at each level."""
    lines, ends, name = [], [], f"nest{int(is_in_then)}"
    for level in range(threads - 1):
        lines += [f"addi t1, a0, {-level}", f"{'snez' if is_in_then else 'seqz'} t1, t1"]
        lines += [f"vx_split x0, t1, x{level % 2}", f"beqz t1, {name}other{level}"]
        inner = [f"j {name}end{level}", f"{name}other{level}:", "addi a1, a1, 1"]
        if not is_in_then:
            lines += ["addi a1, a1, 1", f"j {name}end{level}", f"{name}other{level}:"]
            inner = []
        ends.insert(0, [*inner, f"{name}end{level}:", "li t2, 1", "vx_join t2"])
    return [*lines, "addi a1, a1, 1", *(line for end in ends for line in end)]


def splits(threads: int) -> list[str]:
    """Return splits for every condition of up to four threads, and for corner cases beyond."""
    all_threads = (1 << threads) - 1
    conditions = set(range(1 << min(threads, 4))) | {all_threads, all_threads ^ 1, all_threads >> 1}
    lines = []
    for condition in sorted(conditions):
        label = f"split{condition}"
        lines += [f"li t0, {condition}", "srl t1, t0, a0", "vx_split s4, t1, x0", "andi t1, t1, 1"]
        lines += [f"beqz t1, {label}other", "addi a1, a1, 3", f"j {label}end"]
        lines += [
            f"{label}other: slli a1, a1, 1",
            f"{label}end: vx_join s4",
            "csrr a2, thread_mask",
        ]
    # A join with a flag of 0 does nothing, regardless of its other bits.
    return [*lines, "li t0, -2", "vx_join t0", "vx_join zero"]


def masks(threads: int) -> list[str]:
    """Return mask changes: each thread alone, non-existing threads, loops by thread."""
    lines = []
    for thread in range(threads):
        lines += [f"li t0, {1 << thread}", "vx_tmc t0", "csrr a2, thread_mask", "addi a1, a1, 7"]
        lines += ["li t0, -1", "vx_tmc t0"]
    lines += ["csrr s4, thread_mask", "mv a3, a0", "loop: snez t1, a3", "vx_pred t1, s4"]
    lines += ["beqz t1, over", "addi a3, a3, -1", "addi a1, a1, 5", "j loop"]
    lines += ["over: csrr a2, thread_mask", "li t1, 1", "vx_pred t1, zero", "csrr a2, thread_mask"]
    # The last active thread supplies the new mask.
    lines += ["addi t0, a0, 1", "li t1, 0", f"li t2, {threads}", "sub t2, t0, t2", "seqz t2, t2"]
    lines += ["vx_pred t1, t2", "csrr a2, thread_mask", "li t0, -1", "vx_tmc t0", "mv a4, a1"]
    return lines


def control_program(config: MachineConfig) -> PlacedProgram:
    """Return a program of splits, joins, masks and divergent loops in every warp."""
    core = config.core
    assert core is not None
    lines = [START, "li gp, 8", "csrr a0, thread_id", "csrr a1, warp_id"]
    for is_in_then in (True, False):
        lines += nest(core.threads, is_in_then)
    lines += [*splits(core.threads), *masks(core.threads), *returns(), "fence rw, rw", END]
    return PlacedProgram("\n".join(lines))


def returns() -> list[str]:
    """Return jumps by ``mret``, to an address whose lowest bits do not count and to one read."""
    lines = ["la t0, third", "la t1, second", "ori t1, t1, 3", "csrw mscratch, t0"]
    lines += ["csrrw a2, mepc, t1", "mret", "addi a1, a1, 64"]
    lines += ["second: csrr a3, mepc", "csrrw a2, mepc, t0", "mret", "addi a1, a1, 64"]
    return [*lines, "third: csrr a4, mscratch", "xor a4, a4, a2"]


#: Instructions with a latency, accumulating in a register, and an immediate consumer of each.
PRODUCERS = {
    "addi a2, a2, 5": "xor a3, a2, a3",
    "mul a2, a2, a5": "sub a3, a2, a3",
    "div a2, a4, a5": "add a3, a3, a2",
    "lw a2, 0(s0)": "xor a3, a2, a3",
    "fadd.s fa2, fa2, fa0, rne": "fadd.s fa3, fa2, fa3, rne",
    "fmadd.s fa2, fa0, fa1, fa2, rne": "fmadd.s fa3, fa2, fa2, fa3, rne",
    "fdiv.s fa2, fa0, fa1, rne": "fsub.s fa3, fa2, fa3, rne",
    "frcp.s fa2, fa0": "fmv.x.w a3, fa2",
}


def rejoin_program(config: MachineConfig) -> PlacedProgram:
    """Return a program in which all threads read results that some have just written.

    A result of one side of a split, or of the threads left by a predicate, is in flight when the
    other threads rejoin.
    """
    assert config.core is not None
    lines = [START, "li gp, 10", "csrr a0, thread_id", "andi t1, a0, 1", "li s0, 0x80100000"]
    lines += ["slli t0, a0, 2", "add s0, s0, t0", "li a3, 9", "li a4, 1000", "addi a5, a0, 3"]
    lines += ["addi t0, a0, 2", "fcvt.s.w fa0, t0, rne", "fcvt.s.w fa1, a5, rne", "fmv.s fa3, fa1"]
    lines += ["li a2, 1", "li a6, 0", "fmv.s fa2, fa1", "csrr s5, thread_mask"]
    for number, (producer, consumer) in enumerate(PRODUCERS.items()):
        for form in range(6):
            # Repeated, so that the last starts late; with a gap before its consumer.
            writes, gap = [producer] * (1 + form % 3), ["addi a6, a6, 1"] * (form // 3)
            label = f"rejoin{number}_{form}"
            lines += ["vx_split s4, t1, x0", f"beqz t1, {label}other", *writes, f"j {label}end"]
            lines += [f"{label}other: nop", *writes, *gap, f"{label}end: vx_join s4", consumer]
            lines += ["vx_pred t1, s5", *writes, *gap, "vx_pred zero, s5", consumer]
    data = b"".join((k * 0x0101_0301 & 0xFFFF_FFFF).to_bytes(4, "little") for k in range(32))
    region = (0x8010_0000, len(data))
    return PlacedProgram("\n".join([*lines, END]), ((region[0], data),), (region,))


def wait_until_alone(label: str) -> list[str]:
    """Return code that ends all warps except the first, which waits until they have ended."""
    return [
        "csrr t0, warp_id", f"beqz t0, {label}", "vx_tmc zero",
        f"{label}: csrr t0, warp_mask", "li t1, 1", f"bne t0, t1, {label}",
    ]  # fmt: skip


def meeting(number: int, first: int, warps: int) -> list[str]:
    """Return barriers of the first few warps and of the others, then of all."""
    label = f"meet{number}"
    lines = ["csrr t0, warp_id", f"li t1, {first}", f"bge t0, t1, {label}other"]
    lines += [f"li t2, {number % 15}", "vx_bar t2, t1", f"j {label}all"]
    lines += [
        f"{label}other: li t2, {(number + 5) % 15}",
        f"li t1, {warps - first}",
        "vx_bar t2, t1",
    ]
    return [*lines, f"{label}all: addi a1, a1, 1", "li t2, 15", f"li t1, {warps}", "vx_bar t2, t1"]


def spawn_program(config: MachineConfig, *, seed: int = 1) -> PlacedProgram:
    """Return a program that starts warps repeatedly, and lets some of them meet."""
    core = config.core
    assert core is not None
    rng = random.Random(seed)
    counts = [0, 1, core.warps, *(rng.randrange(core.warps + 1) for _ in range(5)), core.warps]
    lines = ["li gp, 77", "li a1, 0"]
    for number, count in enumerate(counts):
        # With a count of 0 or 1 warp 0 is not started: it continues.
        lines += [f"li t0, {count}", f"la t1, crew{number}", "vx_wspawn t0, t1"]
        lines += [f"crew{number}: li t0, -1", "vx_tmc t0", "csrr a0, mhartid"]
        lines += [f"addi a1, a0, {number}", "csrr a2, thread_mask"]
        lines += wait_until_alone(f"alone{number}")
    lines += [START, "li gp, 9"]
    for number, first in enumerate(range(1, core.warps)):
        lines += meeting(number, first, core.warps)
    for number in range(config.barriers):
        lines += [f"li t0, {number}", f"li t1, {core.warps}", "vx_bar t0, t1", "addi a1, a1, 1"]
    if config.barrier_scope == "core":
        lines += ["csrr t0, warp_id", "bnez t0, gone", f"li t1, {config.cores}"]
        lines += [f"li t0, {1 << 31 | 3}", "vx_bar t0, t1", "gone: nop"]
    # A barrier of one warp.
    if config.cores == 1:
        lines += ["csrr t0, warp_id", "andi t0, t0, 15", "li t1, 1", "vx_bar t0, t1"] * 2
    return PlacedProgram("\n".join([*lines, END]))


def changed_code_program(ending: str = "ecall", *, rounds: int = 3) -> PlacedProgram:
    """Return a single-threaded program that writes and executes instructions, and its end."""
    lines = ["li gp, 0", "li s0, 0", f"li s1, {rounds}", "la s2, changed", "la s3, first"]
    lines += ["csrr t0, core_id", "bnez t0, end", "lw s4, 0(s3)", "lw s5, 4(s3)"]
    lines += ["loop: sw s4, 0(s2)", "sw s5, 4(s2)", "fence.i"]
    lines += ["changed: ebreak", "ebreak", "xor t0, s4, s5", "xor s4, s4, t0", "xor s5, s5, t0"]
    lines += ["addi s1, s1, -1", "bnez s1, loop", f"end: mv gp, s0\n{ending}"]
    # The two replacement instructions: their order matters.
    lines += ["first: addi s0, s0, 5", "slli s0, s0, 1"]
    return PlacedProgram("\n".join(lines))
