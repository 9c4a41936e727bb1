"""Straight-line instruction streams for the steady state of a core."""

from collections.abc import Sequence
from dataclasses import dataclass

from spica.hw.isa.memory_map import SHARED_BASE
from spica.sim.iss.program_bench import END

__all__ = ["STREAMS", "Stream", "program", "repeated"]

#: Destinations of independent instructions, used in rotation: the first register and their number.
#: Lower registers are sources.
FIRST, TURNS = 16, 16
#: Start of a program: every thread of `warps` warps continues after it. x9 is 1, f1 is 1.0, f2 and
#: f3 are near it; x8 is an address in shared memory, a different word for each thread of the core.
BEGIN = f"""
        li t0, {{warps}}
        la t1, body
        vx_wspawn t0, t1
body:   li t0, -1
        vx_tmc t0
        csrr s0, mhartid
        slli s0, s0, 2
        li t1, {SHARED_BASE}
        add s0, s0, t1
        li s1, 1
        lui t1, 0x3F800
        fmv.w.x f1, t1
        addi t1, t1, 1
        fmv.w.x f2, t1
        fmv.w.x f3, t1
"""


@dataclass(frozen=True)
class Stream:
    """Lines of assembly to repeat.

    Parameters
    ----------
    lines : sequence of str
        ``{d}`` stands for a register number, different in each line: an unused destination.
    setup : str
        Lines executed once, before the stream.

    """

    lines: Sequence[str]
    setup: str = ""

    def text(self, length: int) -> str:
        """Return `length` lines."""
        chosen = (
            self.lines[k % len(self.lines)].format(d=FIRST + k % TURNS) for k in range(length)
        )
        return "\n".join((self.setup, *chosen))


def repeated(line: str) -> Stream:
    """Return a stream of one instruction."""
    return Stream([line])


#: Streams by content. Sums read two registers, unless stated otherwise.
STREAMS = {
    "sums": repeated("add x{d}, x8, x9"),
    "sums with an immediate": repeated("addi x{d}, x9, 1"),
    "dependent sums": repeated("add x10, x10, x9"),
    "products": repeated("mul x{d}, x8, x9"),
    "dependent products": repeated("mul x10, x10, x9"),
    "shuffles": repeated("vx_shfl_bfly x{d}, x8, x9"),
    "dependent shuffles": repeated("vx_shfl_bfly x10, x10, x9"),
    "dependent float shuffles": repeated("fshfl_bfly.s f10, f10, x9"),
    "votes": repeated("vx_vote_ballot x{d}, x8, zero"),
    "dependent votes": repeated("vx_vote_ballot x10, x10, zero"),
    "multiply-adds": repeated("fmadd.s f{d}, f1, f2, f3"),
    "dependent multiply-adds": repeated("fmadd.s f10, f1, f2, f10"),
    "sums and multiply-adds": Stream(["add x{d}, x8, x9", "fmadd.s f{d}, f1, f2, f3"]),
    "mixed": Stream([
        "add x{d}, x8, x9",
        "fmadd.s f{d}, f1, f2, f3",
        "lw x{d}, 0(x8)",
        "fmul.s f{d}, f1, f2",
        "xori x{d}, x9, 5",
        "mul x{d}, x8, x9",
        "fadd.s f{d}, f1, f3",
        "sw x9, 0(x8)",
    ]),
    "loads": repeated("lw x{d}, 0(x8)"),
}


def program(stream: Stream, length: int, *, warps: int) -> str:
    """Return the text of a program in which `warps` warps execute `length` lines each."""
    return f"{BEGIN.format(warps=warps)}\n{stream.text(length)}\n{END}"
