"""Tests of machines of several clusters: programs of their own, in lockstep, on both engines."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.config import MachineConfig
from spica.hw.isa.csr import CSRS
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE, cluster_window
from spica.hw.isa.program import assemble_program
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.launch import Launch
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.program_machine import ProgramMachine

#: Two clusters of two cores each, without units.
CONFIG = replace(small_config(warps=2, threads=2, cores=2), clusters=2)
DRAM = DramConfig(latency=20)
ROOM = 1024
#: Where each cluster's program and its arguments are.
ENTRIES, ARGUMENTS = (ENTRY, ENTRY + ROOM), (ENTRY + 4 * ROOM, ENTRY + 5 * ROOM)
RESULTS = (ENTRY + 6 * ROOM, ENTRY + 7 * ROOM)

#: Core 0 of a cluster leaves a word in shared memory, core 1 combines it with an argument. The
#: clusters differ in how they combine them.
TEXT = """
        csrr s0, {arguments}
        lw s1, 0(s0)             # address of the results
        lw s2, 4(s0)             # an operand
        csrr s3, core_id
        csrr s4, mhartid
        csrr s5, {cluster_id}
        csrr s6, {num_clusters}
        csrr s7, num_cores
        li t0, {shared}
        li t1, 0
        li t2, 1
        bnez s3, wait
        {combine}
        sw s2, 64(t0)
wait:   vx_bar t1, t2
        slli t3, s3, 5
        add t3, t3, s1
        lw t4, 64(t0)
        sw t4, 0(t3)
        sw s3, 4(t3)
        sw s4, 8(t3)
        sw s5, 12(t3)
        sw s6, 16(t3)
        sw s7, 20(t3)
        addi gp, s4, 3
        fence rw, rw
        vx_tmc zero
"""
NUMBERS = {name: CSRS[name].number for name in ("arguments", "cluster_id", "num_clusters")}
COMBINE = ("addi s2, s2, 5", "slli s2, s2, 3")
OPERANDS = (1000, 77)
COMBINED = (1005, 616)


def programs(config: MachineConfig = CONFIG) -> list[tuple[int, bytes]]:
    """Return the contents of DRAM: both programs and their arguments."""
    texts = [TEXT.format(**NUMBERS, shared=SHARED_BASE, combine=each) for each in COMBINE]
    code = [assemble_program(text, at).data for text, at in zip(texts, ENTRIES, strict=True)]
    words = [np.array(each, np.uint32).tobytes() for each in zip(RESULTS, OPERANDS, strict=True)]
    return [*zip(ENTRIES, code, strict=True), *zip(ARGUMENTS, words, strict=True)]


LAUNCHES = [
    Launch(entry=entry, arguments=arguments)
    for entry, arguments in zip(ENTRIES, ARGUMENTS, strict=True)
]


def load(machine) -> None:
    """Place both programs, their arguments and room for their results."""
    machine.allow(ENTRY, 8 * ROOM)
    for address, data in programs():
        machine.write(address, data)


def require_results(machine) -> None:
    """Check the words that each core of each cluster has written."""
    for cluster, address in enumerate(RESULTS):
        words = machine.read(address, 64).view(np.uint32).reshape(2, 8)
        for core, row in enumerate(words.tolist()):
            hart = (2 * cluster + core) << 2
            assert row[:6] == [COMBINED[cluster], core, hart, cluster, 2, 2]


@pytest.mark.parametrize("engine", ["verilator", "amaranth"])
def test_each_cluster_runs_its_own_program_in_lockstep(engine):
    with ProgramMachine(CONFIG, memory=DRAM, lockstep=True, engine=engine) as machine:
        load(machine)
        outcome = machine.run(200_000, launches=LAUNCHES)
        assert outcome.stop is StopReason.DONE, outcome.mismatch
        assert list(outcome.exit_codes) == [3, 7, 11, 15]
        require_results(machine)


def test_the_model_runs_the_programs_of_all_clusters():
    iss = Iss(CONFIG)
    iss.reset(launches=LAUNCHES)
    load(iss)
    assert iss.run().stop is StopReason.DONE
    assert iss.exit_codes == [3, 7, 11, 15]
    require_results(iss)
    # Each cluster has its own shared memory, and the host reaches it in its window.
    for cluster, word in enumerate(COMBINED):
        assert iss.read(cluster_window(cluster) + 64, 4).view(np.uint32)[0] == word
    assert iss.read(SHARED_BASE + 64, 4).view(np.uint32)[0] == COMBINED[0]
