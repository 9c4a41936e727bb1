"""Tests of machines of several clusters: programs of their own, in lockstep, on both engines."""

import re
from dataclasses import replace

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.config import MachineConfig
from spica.hw.isa.csr import CSRS
from spica.hw.isa.memory_map import DMA, DMA_BASE, ENTRY, SHARED_BASE, cluster_window
from spica.hw.isa.program import assemble_program
from spica.hw.presets import PRESETS
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.launch import Launch, require_registers
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.run.request.request import Request
from spica.sim.run.request.resolve import resolve

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
    texts = [TEXT.format(**NUMBERS, shared=SHARED_BASE, combine=value) for value in COMBINE]
    code = [assemble_program(text, at).data for text, at in zip(texts, ENTRIES, strict=True)]
    words = [np.array(value, np.uint32).tobytes() for value in zip(RESULTS, OPERANDS, strict=True)]
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


@pytest.mark.full
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


#: Each core copies its cluster's words to shared memory by the DMA, and from there to DRAM.
COPY = """
        csrr s0, {arguments}
        lw s1, 0(s0)             # address of the results
        lw s2, 8(s0)             # address of the operands
        csrr s3, core_id
        li t1, 0
        li t2, 1
        bnez s3, wait
        li t0, {dma}
        sw s2, {dram}(t0)
        sw zero, {local}(t0)
        li t3, 64
        sw t3, {dram_pitch}(t0)
        sw t3, {local_pitch}(t0)
        li t3, {shape}
        sw t3, {shape_register}(t0)
        sw zero, {fill}(t0)
        sw zero, {start}(t0)
poll:   lw t3, {loads_done}(t0)
        beqz t3, poll
wait:   vx_bar t1, t2
        li t0, {shared}
        slli t3, s3, 5
        add t0, t0, t3
        add t3, t3, s1
        lw t4, 0(t0)
        lw t5, 4(t0)
        add t4, t4, t5
        sw t4, 0(t3)
        fence rw, rw
        vx_tmc zero
"""
WITH_DMA = replace(CONFIG, dma=PRESETS["tiny"].dma)


@pytest.mark.full
def test_each_cluster_has_its_own_dma_and_shared_memory_in_lockstep():
    dma = {name: register.offset for name, register in DMA.items()}
    text = COPY.format(
        **NUMBERS,
        **{name: dma[name] for name in ("dram", "local", "dram_pitch", "local_pitch", "fill")},
        **{name: dma[name] for name in ("start", "loads_done")},
        shape_register=dma["shape"],
        shape=64 << 16 | 1,
        dma=SHARED_BASE + WITH_DMA.shared.size + DMA_BASE,
        shared=SHARED_BASE,
    )
    code = assemble_program(text, ENTRY).data
    operands = [np.arange(16, dtype=np.uint32) * (3 + 4 * cluster) + 9 for cluster in range(2)]
    addresses = [ARGUMENTS[cluster] + 64 for cluster in range(2)]

    def load_copies(machine) -> None:
        machine.allow(ENTRY, 8 * ROOM)
        machine.write(ENTRY, code)
        for cluster in range(2):
            words = np.array([RESULTS[cluster], 0, addresses[cluster]], np.uint32)
            machine.write(ARGUMENTS[cluster], words.tobytes())
            machine.write(addresses[cluster], operands[cluster].tobytes())

    def require_copies(machine) -> None:
        for words, address in zip(operands, RESULTS, strict=True):
            sums = machine.read(address, 64).view(np.uint32)[::8]
            assert sums.tolist() == [int(words[0] + words[1]), int(words[8] + words[9])]

    launches = [Launch(arguments=arguments) for arguments in ARGUMENTS]
    with ProgramMachine(WITH_DMA, memory=DRAM, lockstep=True) as machine:
        load_copies(machine)
        outcome = machine.run(200_000, launches=launches)
        assert outcome.stop is StopReason.DONE, outcome.mismatch
        require_copies(machine)
        events = machine.cluster.events()
        assert events["dma_descriptors"] == events["cluster1_dma_descriptors"] == 1
    for checks in (False, True):
        iss = Iss(WITH_DMA, checks_races=checks, checks_memory=checks)
        iss.reset(launches=launches)
        load_copies(iss)
        assert iss.run().stop is StopReason.DONE
        require_copies(iss)


@pytest.mark.full
def test_only_the_clusters_with_a_program_start():
    with ProgramMachine(CONFIG, memory=DRAM, lockstep=True) as machine:
        load(machine)
        outcome = machine.run(200_000, launches=LAUNCHES[:1])
        assert outcome.stop is StopReason.DONE, outcome.mismatch
        assert list(outcome.exit_codes) == [3, 7, 0, 0]
        assert not machine.read(RESULTS[1], 64).any()


@pytest.mark.full
def test_a_run_is_saved_and_continues():
    with ProgramMachine(CONFIG, memory=DRAM, lockstep=True) as machine:
        load(machine)
        whole = machine.run(200_000, launches=LAUNCHES)
    with ProgramMachine(CONFIG, memory=DRAM, lockstep=True) as machine:
        load(machine)
        machine.run(whole.cycles // 2, launches=LAUNCHES)
        state = machine.save()
    with ProgramMachine(CONFIG, memory=DRAM, lockstep=True) as machine:
        machine.allow(ENTRY, 8 * ROOM)
        machine.restore(state)
        rest = machine.run(200_000)
        assert rest.stop is StopReason.DONE, rest.mismatch
        assert (rest.cycles, rest.exit_codes) == (whole.cycles, whole.exit_codes)
        require_results(machine)


@pytest.mark.full
def test_a_difference_names_the_core_of_the_machine():
    with ProgramMachine(CONFIG, memory=DRAM, lockstep=True) as machine:
        load(machine)
        assert machine.iss is not None
        machine.harness.write(ARGUMENTS[1] + 4, b"\x01\x00\x00\x00")  # in the RTL only
        outcome = machine.run(200_000, launches=LAUNCHES)
        assert re.match(r"core 2, warp 0 differs from the model in cycle \d+", outcome.mismatch)


@pytest.mark.parametrize(
    ("launches", "message"),
    [
        ([Launch()] * 3, "launches must be from 1 to 2, not 3"),
        ([Launch(entry=ENTRY + 2)], "entry must be a 32-bit multiple of 4, not 0x80000002"),
        ([Launch(arguments=-4)], "arguments must be a 32-bit address, not -0x4"),
    ],
)
def test_a_wrong_launch_is_refused(launches, message):
    with pytest.raises(UserError, match=re.escape(message)):
        Iss(CONFIG).reset(launches=launches)


def test_one_cluster_has_no_registers_for_a_launch():
    message = "with one cluster, entry must be 0x80000000 and arguments 0x9fff0000"
    for launch in (Launch(entry=ENTRY + 4), Launch(arguments=ENTRY)):
        with pytest.raises(UserError, match=message):
            require_registers([launch], clusters=1)
        require_registers([launch], clusters=2)
    require_registers([Launch()], clusters=1)


def test_a_run_of_one_program_needs_one_cluster():
    message = "clusters must be 1 for a run, which starts one program, not 2"
    with pytest.raises(UserError, match=message):
        resolve(Request(kernel="vecadd", preset="tiny", settings=("clusters=2",)))
