"""Programs for single promises of windows: order, ends, cycles."""

from support.cluster.window_programs import BEGIN, END, RENDEZVOUS

__all__ = ["BEYOND", "IN_ORDER", "TIMED", "TWO_WAYS"]

#: A core stores through its own window and loads at the base, where the store may not have arrived:
#: results are the number of loads without it, and the bits that differ after a fence.
TWO_WAYS = (
    BEGIN
    + """
        sw zero, 96(s9)
        li s1, 0
        li s2, 0
        li s0, 1
        li t6, 16
again:  fence rw, rw
        sw s0, 96(s8)
        lw a0, 96(s9)
        xor a1, a0, s0
        snez a1, a1
        add s1, s1, a1
        fence rw, rw
        lw a2, 96(s9)
        xor a2, a2, s0
        or s2, s2, a2
        addi a3, s0, 100
        sb a3, 96(s9)
        fence rw, rw
        lbu a4, 96(s8)
        xor a4, a4, a3
        andi a4, a4, 0xFF
        or s2, s2, a4
        addi s0, s0, 1
        bge t6, s0, again
        sw s1, 0(s10)
        sw s2, 4(s10)
"""
    + END
)

#: Cluster 0 stores numbers to cluster 1 and then to cluster 2, without a fence. Cluster 2 loads in
#: the opposite order, and counts loads from cluster 1 that are older: its second word of results.
#: Cluster 1 loads all the time from the bank of that word, until it finds the last number.
IN_ORDER = (
    BEGIN
    + """
        sw zero, 128(s9)
        li s2, 0
        li s1, 0
"""
    + RENDEZVOUS.replace("{number}", "1")
    + """
        li s0, 40                # the last number
        li t1, {windows}
        li t2, 0x100000
        add s3, t1, t2           # window of cluster 1
        add s4, s3, t2           # window of cluster 2
        beqz s5, write
        li t2, 1
        beq s5, t2, load
read:   lw a0, 128(s4)
        and a1, a0, zero
        add a1, a1, s3
        lw a2, 128(a1)
        slt a3, a2, a0
        add s1, s1, a3
        addi s2, s2, 1
        bne a0, s0, read
        j done
write:  li a0, 1
store:  sw a0, 128(s3)
        sw a0, 128(s4)
        addi a0, a0, 1
        bge s0, a0, store
        j done
load:   lw a0, 128(s9)
        lw a1, 132(s9)
        lw a2, 136(s9)
        lw a3, 140(s9)
        bne a0, s0, load
done:   sw s2, 0(s10)
        sw s1, 4(s10)
"""
    + END
)

#: Thread 2 of cluster 1 accesses `{wrong}`, others places that exist.
BEYOND = (
    BEGIN
    + """
        li t1, 1
        bne s5, t1, end
        li t1, 15
        vx_tmc t1
        csrr s0, thread_id
        li t2, 2
        xor t2, s0, t2
        snez t2, t2
        neg t2, t2               # all ones unless this is thread 2
        li t3, {wrong}
        slli t4, s0, 2
        li t5, {windows}
        add t4, t4, t5
        xor t4, t4, t3
        and t4, t4, t2
        xor t4, t4, t3
bad:    {access}
        vx_tmc zero
"""
    + END
)


def timed(body: str, number: int) -> str:
    """Return code that stores the cycles of 8 and of 24 instructions as two words of results."""
    text = ""
    for repeats in (8, 24):
        text += "        fence rw, rw\n        csrr t1, mcycle\n" + f"        {body}\n" * repeats
        text += f"        csrr t2, mcycle\n        sub t2, t2, t1\n        sw t2, {number}(s10)\n"
        number += 4
    return text


#: Cluster 0 measures loads in a chain from its own memory and from that of cluster 1, and stores of
#: all lanes to its own memory, to cluster 1, and to both clusters in turn.
TIMED = (
    BEGIN
    + """
        bnez s5, end
        addi a0, s9, 0x80
        sw a0, 0(a0)
        addi a1, s7, 0x80
        sw a1, 0(a1)
"""
    + timed("lw a0, 0(a0)", 0)
    + timed("lw a1, 0(a1)", 8)
    + """
        li t1, 15
        vx_tmc t1
        li s9, {shared}
        li s7, {windows}
        li s10, {results}
        csrr t0, thread_id
        slli t1, t0, 2
        add a0, s9, t1
        add a1, s7, t1
        li t3, 0x100000
        add a1, a1, t3
        andi t2, t0, 1
        slli t2, t2, 20
        add a2, s7, t1
        add a2, a2, t2
"""
    + timed("sw t0, 0x80(a0)", 16)
    + timed("sw t0, 0x80(a1)", 24)
    + timed("sw t0, 0x80(a2)", 32)
    + END
)
