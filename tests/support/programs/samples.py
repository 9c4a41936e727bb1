"""Small programs for all threads of all warps of all cores, with separate memory for each."""

from spica.sim.iss.program_bench import END, START

__all__ = ["BEGIN", "RESULTS", "ROOM", "SAMPLES", "sample"]

#: Bytes of a sample and its results, for up to 64 threads.
ROOM = 4096
#: In every thread: s0 is its index, s1 the address of its results.
BEGIN = f"""{START}
        csrr s0, mhartid
        slli s1, s0, 5
        la t1, results
        add s1, s1, t1
"""
RESULTS = f"""{END}        .word 0
results: .word 0
"""
SAMPLES = {
    "integers": """
        addi a0, s0, 7
        slli a1, a0, 3
        mul a2, a0, a1
        sub a3, a2, s0
        div a4, a3, a0
        sw a2, 0(s1)
        sw a3, 4(s1)
        sw a4, 8(s1)
        lw a5, 4(s1)
        addi a5, a5, 1
        sb a5, 12(s1)
    """,
    "floats": """
        addi a0, s0, 3
        fcvt.s.w fa0, a0
        fmadd.s fa1, fa0, fa0, fa0
        fdiv.s fa2, fa1, fa0
        fsqrt.s fa3, fa1
        frcp.s fa4, fa0
        fmul.s fa5, fa4, fa2, rtz
        csrr a1, fflags
        fsw fa1, 0(s1)
        fsw fa2, 4(s1)
        fsw fa3, 8(s1)
        fsw fa5, 12(s1)
        sw a1, 16(s1)
    """,
    "divergence": """
        andi a0, s0, 1
        vx_split a1, a0, zero
        beqz a0, other
        addi a2, s0, 100
        j join
other:  slli a2, s0, 4
join:   vx_join a1
        sw a2, 0(s1)
        li a3, 5
loop:   addi a3, a3, -1
        add a2, a2, a3
        bnez a3, loop
        sw a2, 4(s1)
    """,
    "parts of words": """
        li a0, 0x80C1F2E3
        add a0, a0, s0
        sw a0, 0(s1)
        sb a0, 5(s1)
        sb a0, 7(s1)
        sh a0, 10(s1)
        lb a1, 3(s1)
        lbu a2, 3(s1)
        lh a3, 2(s1)
        lhu a4, 0(s1)
        sh a1, 12(s1)
        sb a2, 15(s1)
        sw a3, 16(s1)
        sw a4, 20(s1)
        csrr a5, thread_id  # all lanes store to one word, the last of them at last
        slli a5, a5, 5
        sub a5, s1, a5
        sw s0, 28(a5)
    """,
    "shared memory": """
        slli a0, s0, 2
        lui a1, 0xFF000
        add a0, a0, a1
        addi a2, s0, 50
        sw a2, 0(a0)
        li a3, 1
        csrr a4, num_warps
        vx_bar a3, a4
        xori a5, a0, 4      # of a thread beside, in its own or another warp
        lw a6, 0(a5)
        sw a6, 0(s1)
        vx_bar a3, a4
        sb a6, 1(a0)
    """,
}


def sample(name: str) -> str:
    """Return a sample's text."""
    return BEGIN + SAMPLES[name] + "        li gp, 3\n" + RESULTS
