"""Programs that reach the shared memory of other clusters through its windows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spica.hw.config import MachineConfig
from spica.hw.isa.csr import CSRS
from spica.hw.isa.memory_map import CLUSTER_WINDOWS, ENTRY, SHARED_BASE
from spica.hw.isa.program import assemble_program
from spica.sim.iss.program_bench import small_config

__all__ = [
    "BEGIN",
    "DIVERGENT",
    "END",
    "FLAGS",
    "RENDEZVOUS",
    "RING",
    "ROOM",
    "WindowProgram",
    "window_config",
]

ROOM = 4096
FLAGS, RESULTS = ENTRY + ROOM, ENTRY + 2 * ROOM
NUMBERS = {name: CSRS[name].number for name in ("cluster_id", "num_clusters")}
ADDRESSES = {"shared": SHARED_BASE, "windows": CLUSTER_WINDOWS, "flags": FLAGS, "results": RESULTS}
#: Words of results of each cluster.
RESULT_WORDS = 64

#: Start of all programs: s5 and s6 are the cluster and their number, s7 and s8 the windows of the
#: next cluster and of this one, s9 shared memory, s10 the results. Only core 0 continues.
BEGIN = """
        csrr s3, core_id
        csrr s5, {cluster_id}
        csrr s6, {num_clusters}
        bnez s3, end
        addi t0, s5, 1
        bne t0, s6, next
        li t0, 0
next:   li t1, {windows}
        slli s7, t0, 20
        add s7, s7, t1
        slli s8, s5, 20
        add s8, s8, t1
        li s9, {shared}
        li s10, {results}
        slli t2, s5, 8
        add s10, s10, t2
"""
#: All clusters wait for each other: each sets a flag in DRAM, and polls those of all.
RENDEZVOUS = """
        li t1, {flags}
        slli t2, s5, 2
        add t2, t2, t1
        li t3, {number}
        fence rw, rw
        sw t3, 0(t2)
        fence rw, rw
        slli t4, s6, 2
        add t4, t4, t1
each{number}:
        lw t5, 0(t1)
        fence rw, rw
        bltu t5, t3, each{number}
        addi t1, t1, 4
        bltu t1, t4, each{number}
"""
END = """
end:    fence rw, rw
        vx_tmc zero
"""

#: Each cluster writes a word, a half and a byte to the next cluster, and then a flag, which that
#: polls in its own memory. It reads what it has received at both addresses, and what it sent back.
RING = (
    BEGIN
    + """
        sw zero, 64(s9)
        sw zero, 68(s9)
        sw zero, 80(s9)
"""
    + RENDEZVOUS.replace("{number}", "1")
    + """
        addi t3, s5, 0x7F0
        sw t3, 64(s7)
        li t4, 0x8123
        add t4, t4, s5
        sh t4, 70(s7)
        addi t5, s5, -9
        sb t5, 69(s7)
        fence rw, rw
        li t6, 1
        sw t6, 80(s7)
poll:   lw t6, 80(s9)
        beqz t6, poll
        lw a0, 64(s9)
        lw a1, 68(s9)
        lw a2, 68(s8)
        lh a3, 70(s8)
        lbu a4, 69(s7)
        lhu a5, 70(s7)
        lw a6, 64(s7)
        sw a0, 0(s10)
        sw a1, 4(s10)
        sw a2, 8(s10)
        sw a3, 12(s10)
        sw a4, 16(s10)
        sw a5, 20(s10)
        sw a6, 24(s10)
"""
    + END
)

#: Every lane of every warp stores to and loads from another place: of all clusters in turn, then
#: also of DRAM and of its own memory. The lanes with odd numbers go last, in reverse.
DIVERGENT = (
    BEGIN
    + RENDEZVOUS.replace("{number}", "1")
    + """
        csrr t0, num_warps
        la t1, body
        vx_wspawn t0, t1
body:   csrr t2, num_threads
        li t1, 1
        sll t1, t1, t2
        addi t1, t1, -1
        vx_tmc t1
        csrr s0, thread_id
        csrr s1, warp_id
        csrr s5, {cluster_id}
        csrr s6, {num_clusters}
        li s9, {shared}
        li s10, {results}
        slli t2, s5, 8
        add s10, s10, t2
        csrr t2, num_threads
        mul s2, s1, t2
        add s2, s2, s0           # number of the thread in the core
        slli s3, s2, 2
        add s10, s10, s3         # its first word of results
        add t3, s2, s5
        remu t3, t3, s6          # cluster that it reaches
        slli t3, t3, 20
        li t4, {windows}
        add s7, t3, t4
        slli t5, s5, 6
        add t5, t5, s3
        add s7, s7, t5           # word of this cluster and thread there
        addi t6, s2, 0x100
        slli t1, s5, 12
        or t6, t6, t1
        sw t6, 0x200(s7)
        lw a0, 0x200(s7)
        xor a1, a0, t6           # 0
        andi t1, s0, 1           # odd threads: DRAM, others: shared memory or a window
        neg t1, t1
        sub t2, s10, s7
        and t2, t2, t1
        add t2, t2, s7
        addi a2, a0, 1
        sw a2, 0x80(t2)
        lw a3, 0x80(t2)
        fence rw, rw
        sw a1, 0(s10)
        sw a3, 0x40(s10)
        lbu a4, 0x201(s7)
        sw a4, 0xC0(s10)
        fence rw, rw
        vx_tmc zero
"""
    + END
)


def window_config(clusters: int, **changes: Any) -> MachineConfig:
    """Return a small machine of several clusters, without units."""
    options: dict[str, Any] = {"warps": 2, "threads": 4} | changes
    return replace(small_config(**options), clusters=clusters, dma=None)


@dataclass(frozen=True)
class WindowProgram:
    """A program of all clusters of a machine, and the words that it leaves.

    Parameters
    ----------
    text : str
        Assembly, with the names of `ADDRESSES` and `NUMBERS` in braces.

    """

    text: str

    def load(self, machine) -> None:
        """Place the program, its flags and its results."""
        machine.allow(ENTRY, 3 * ROOM)
        data = assemble_program(self.text.format(**NUMBERS, **ADDRESSES), ENTRY).data
        assert len(data) <= ROOM
        machine.write(ENTRY, data)
        machine.write(FLAGS, bytes(64))

    def results(self, machine, clusters: int) -> list[Sequence[int]]:
        """Return the words that each cluster has left."""
        words = machine.read(RESULTS, 4 * RESULT_WORDS * clusters).view(np.uint32)
        return words.reshape(clusters, RESULT_WORDS).tolist()

    @property
    def labels(self) -> dict[str, int]:
        """Addresses of its labels."""
        return assemble_program(self.text.format(**NUMBERS, **ADDRESSES), ENTRY).labels
