"""Faulty programs, each with a different fault at the label ``bad``."""

from dataclasses import dataclass

from spica.hw.core.control.faults import FaultCause
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from support.programs.placed_program import PlacedProgram

__all__ = ["FAULTS", "FaultyProgram"]

#: All threads of warp 0, with instructions in flight before and after the fault.
BEGIN = """
        li gp, 1
        li t0, -1
        vx_tmc t0
        csrr a0, thread_id
        li s0, 0x80100000
        sw a0, 0(s0)
        fcvt.s.w fa0, a0
        fdiv.s fa1, fa0, fa0
"""
END = "\n        sw a0, 4(s0)\n        vx_tmc zero\n"
REGION = (0x8010_0000, 4096)


@dataclass(frozen=True)
class FaultyProgram:
    """A program that stops at its label ``bad``, or at the target of that instruction.

    Parameters
    ----------
    name : str
    cause : FaultCause or MemoryFault
    body : str
    threads, warps, cores : int
        Minimum number that it needs.
    target : int or None
        Address of the faulting instruction, if it is not the one at ``bad``.

    """

    name: str
    cause: FaultCause | MemoryFault
    body: str
    threads: int = 1
    warps: int = 1
    cores: int = 1
    target: int | None = None

    @property
    def placed(self) -> PlacedProgram:
        """Program and its regions."""
        return PlacedProgram(BEGIN + self.body + END, (), (REGION,))

    @property
    def pc(self) -> int:
        """Address of the faulting instruction."""
        labels = self.placed.program.labels
        return labels["bad"] if self.target is None else self.target


def illegal() -> list[FaultyProgram]:
    """Return illegal words and reserved rounding modes."""
    words = {"zero": 0, "ones": 0xFFFF_FFFF, "load_reserved": 0x1005_252F, "compressed": 0x4501}
    words |= {"reserved_rounding": 0x00B5_5553, "tensor": 0x0000_007B, "rv64": 0x0005_3503}
    programs = [
        FaultyProgram(f"illegal_{name}", FaultCause.ILLEGAL, f"bad: .word {word}")
        for name, word in words.items()
    ]
    for mode in (5, 6, 7):
        text = f"csrwi frm, {mode}\nbad: fadd.s fa0, fa0, fa0, dyn"
        programs.append(FaultyProgram(f"illegal_dynamic_{mode}", FaultCause.ILLEGAL, text))
    return programs


def control() -> list[FaultyProgram]:
    """Return illegal jumps, branches, stack operations, control registers and warp starts."""
    split = "andi t0, a0, 1\nvx_split t1, t0, zero\nli t0, -1\nvx_tmc t0\n"
    jump, branch = FaultCause.MISALIGNED_JUMP, FaultCause.DIVERGENT_BRANCH
    return [
        FaultyProgram(
            "fetch", FaultCause.FETCH, "li t0, 0x90000000\nbad: jr t0", target=0x9000_0000
        ),
        FaultyProgram("unknown_csr", FaultCause.UNKNOWN_CSR, "bad: csrrs a1, 0x7C0, zero"),
        FaultyProgram("read_only_csr", FaultCause.READ_ONLY_CSR, "bad: csrrw a1, mhartid, a0"),
        FaultyProgram("read_only_set", FaultCause.READ_ONLY_CSR, "bad: csrrsi a1, misa, 1"),
        FaultyProgram(
            "stack_overflow", FaultCause.STACK_OVERFLOW,
            f"li a2, 100\nagain: {split}addi a2, a2, -1\nbnez a2, again".replace(
                "vx_split", "bad: vx_split"
            ),
            threads=2,
        ),
        FaultyProgram("stack_underflow", FaultCause.STACK_UNDERFLOW, "li t0, 1\nbad: vx_join t0"),
        FaultyProgram("jalr", jump, "la t0, bad\nbad: jalr ra, 2(t0)"),
        FaultyProgram("jal", jump, "bad: jal ra, 6"),
        FaultyProgram("branch_to_half", jump, "bad: beq zero, zero, -2"),
        FaultyProgram("start", jump, "li t0, 1\nli t1, 0x80000002\nbad: vx_wspawn t0, t1"),
        FaultyProgram("branch", branch, "bad: beqz a0, 8\nnop", threads=2),
        FaultyProgram("last_one", branch, "slti t0, a0, 1\nbad: bnez t0, 8\nnop", threads=2),
        FaultyProgram(
            "jump", branch, "slli t0, a0, 2\nla t1, bad\nadd t0, t0, t1\nbad: jalr ra, 8(t0)",
            threads=2,
        ),
        FaultyProgram(
            "too_many_warps", FaultCause.WSPAWN_COUNT,
            "csrr t0, num_warps\naddi t0, t0, 1\nla t1, bad\nbad: vx_wspawn t0, t1",
        ),
    ]  # fmt: skip


#: Warp 0 starts the others, and waits until they have reached their barrier.
OTHERS = """
        csrr t0, num_warps
        la t1, others
        vx_wspawn t0, t1
        li t0, 200
delay:  addi t0, t0, -1
        bnez t0, delay
"""


def barriers() -> list[FaultyProgram]:
    """Return illegal barriers."""
    number, count = FaultCause.BARRIER_NUMBER, FaultCause.BARRIER_COUNT
    barrier = "\nj over\nothers: li t0, 3\nli t1, {}\n{}vx_bar t0, t1\nvx_tmc zero\nover: nop"
    return [
        FaultyProgram("barrier_number", number, "li t0, 16\nli t1, 1\nbad: vx_bar t0, t1"),
        FaultyProgram("barrier_high", number, "li t0, 0x10003\nli t1, 1\nbad: vx_bar t0, t1"),
        FaultyProgram("barrier_of_none", count, "li t0, 3\nbad: vx_bar t0, zero"),
        FaultyProgram(
            "barrier_of_many", count,
            "csrr t1, num_warps\naddi t1, t1, 1\nli t0, 3\nbad: vx_bar t0, t1",
        ),
        FaultyProgram(
            "barrier_disagrees", FaultCause.BARRIER_DISAGREES,
            f"{OTHERS}li t0, 3\nli t1, 1\nbad: vx_bar t0, t1{barrier.format(2, '')}", warps=2,
        ),
        FaultyProgram(
            "barrier_full", FaultCause.BARRIER_FULL,
            "csrr t0, core_id\nseqz t1, t0\nbnez t1, first\nvx_tmc zero\nfirst: nop"
            f"{OTHERS}li t0, 3\nli t1, 2\nbad: vx_bar t0, t1{barrier.format(2, '')}",
            warps=3, cores=2,
        ),
    ]  # fmt: skip


def memory() -> list[FaultyProgram]:
    """Return illegal accesses; if several threads are needed, only some are illegal."""
    odd = "add t0, s0, a0\n"
    accesses = {
        "lh": (MemoryFault.MISALIGNED, f"{odd}bad: lh a1, 1(t0)"),
        "lhu": (MemoryFault.MISALIGNED, f"{odd}bad: lhu a1, 1(t0)"),
        "lw": (MemoryFault.MISALIGNED, f"{odd}bad: lw a1, 2(t0)"),
        "sh": (MemoryFault.MISALIGNED, f"{odd}bad: sh a1, 1(t0)"),
        "sw": (MemoryFault.MISALIGNED, f"{odd}bad: sw a0, 3(t0)"),
        "flw": (MemoryFault.MISALIGNED, f"{odd}bad: flw fa1, 2(t0)"),
        "fsw": (MemoryFault.MISALIGNED, f"{odd}bad: fsw fa0, 1(t0)"),
        "load_below": (MemoryFault.UNADDRESSABLE, "slli t0, a0, 2\nbad: lw a1, 4(t0)"),
        "store_below": (MemoryFault.UNADDRESSABLE, "bad: sb a0, -1(zero)".replace("-1", "1")),
        "load_elsewhere": (MemoryFault.REFUSED, "li t0, 0xA0000000\nbad: lw a1, 0(t0)"),
        "store_elsewhere": (MemoryFault.REFUSED, "li t0, 0xA0000000\nbad: fsw fa0, 0(t0)"),
        "store_beyond": (MemoryFault.REFUSED, "slli t0, a0, 12\nadd t0, t0, s0\nbad: sw a0, 0(t0)"),
    }
    several = ("store_beyond",)
    return [
        FaultyProgram(name, cause, body, threads=2 if name in several else 1)
        for name, (cause, body) in accesses.items()
    ]


#: Programs by name.
FAULTS = {program.name: program for program in (*illegal(), *control(), *barriers(), *memory())}
