"""Tests of programs on a whole cluster: ends, counters, markers, reports."""

import gc
import warnings

import numpy as np
import pytest
from amaranth.hdl import UnusedElaboratable

from spica.base.errors import MachineError, UserError
from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.memory_map import DMA_BASE, ENTRY, SHARED_BASE, WINDOW_BYTES
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.hw.machine.counters import counter_table
from spica.hw.machine.machine import Machine
from spica.hw.machine.observation import observed_ports
from spica.kernels.commands import CommandList
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.interface import HARNESS
from spica.sim.harness.stop_reason import StopReason
from spica.sim.machine.memory_layout import MemoryLayout
from spica.sim.report.run_report import cycle_lines, latency_lines
from spica.sim.run.options import SimtOptions
from spica.sim.run.rtl_executor import RtlExecutor
from support.cluster.two_cores import TWO, two_cores
from support.programs.cluster_programs import DATA, ROOM, TARGET, WORDS, place, unit_program

Kind = HARNESS.enumeration("RecordKind")
LIMIT = 50_000
WINDOW = SHARED_BASE + TWO.shared.size


def machine_with(**options):
    options = {"memory": DramConfig()} | options
    machine = two_cores(**options)
    machine.allow(ENTRY, ROOM)
    return machine


@pytest.fixture(scope="module")
def machine():
    """Return the module's machine."""
    with machine_with(record=(0, 1 << 62)) as machine:
        yield machine
    gc.collect()


#: Core 0 writes a countdown to DRAM and ends without a fence.
STORES = f"""
        csrr t0, core_id
        bnez t0, end
        li s1, {ENTRY + TARGET}
        li a1, {WORDS}
again:  sw a1, 0(s1)
        addi s1, s1, 4
        addi a1, a1, -1
        bnez a1, again
end:    li gp, 0
        vx_tmc zero
"""


def execute(machine, name):
    place(machine, unit_program(name, TWO, ENTRY))
    return machine.run(LIMIT)


@pytest.mark.full
def test_only_an_observed_cluster_has_observed_ports():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        plain, observed = (
            set(Machine(TWO, observed=observed).signature.members) for observed in (False, True)
        )
        gc.collect()
    shown = observed_ports(TWO)
    assert {f"events_{row.name}" for row in counter_table(TWO)} < set(shown)
    assert {"core0", "core1", "shared_write_0"} < set(shown)
    assert observed - plain == set(shown) and plain < observed


@pytest.mark.slow
def test_what_is_marked_and_counted(machine):
    outcome = execute(machine, "dma")
    assert outcome.stop is StopReason.DONE
    assert outcome.exit_codes == (2 * int(DATA.sum()) + 3 * WORDS, 0)
    assert outcome.exit_code == outcome.exit_codes[0]
    assert outcome.begins == outcome.ends == 1
    assert 0 < outcome.first_command < outcome.first_begin < outcome.last_end <= outcome.cycles
    assert outcome.measured == outcome.last_end - outcome.first_begin
    assert outcome.first_begin < outcome.last_response < outcome.last_end
    assert outcome.elapsed == outcome.last_response - outcome.first_command
    assert sum(channel.write_bytes for channel in outcome.channels) == 4 * WORDS
    assert sum(channel.read_bytes for channel in outcome.channels) > 4 * WORDS
    counted = machine.counters()
    assert tuple(core["instructions"] for core in counted) == outcome.core_instructions
    assert counted[0]["stores"] > WORDS
    assert machine.core_states()[0].stores == counted[0]["stores"]
    units = machine.cluster.events()
    assert units["dma_descriptors"] == 2
    assert units["shared_write_words_dma0"] + units["shared_write_words_dma1"] == WORDS
    # Each is a row of two words.
    assert units["shared_row_write_words"] == units["shared_row_read_words"] == 2 * WORDS
    # The host reads the same.
    questions = CommandList()
    for row in counter_table(TWO):
        questions.read(row.address)
    machine.harness.begin(questions.array(), max_cycles=LIMIT, watchdog=LIMIT, stop_on_error=True)
    while machine.harness.state().stop == StopReason.NONE:
        machine.engine.run(machine.harness, 1000)
    assert machine.harness.reads().tolist() == list(units.values())


@pytest.mark.slow
def test_a_run_ends_when_all_is_in_dram(machine):
    outcome = execute(machine, "meeting")
    assert outcome.stop is StopReason.DONE
    stored = machine.read(ENTRY + TARGET, 4).view(np.uint32)
    assert stored.tolist() == [77]
    # Core 0 fences only the writes before its end.
    place(machine, STORES)
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.DONE
    values = machine.read(ENTRY + TARGET, 4 * WORDS).view(np.uint32)
    assert values.tolist() == list(range(WORDS, 0, -1))
    written = sum(channel.write_bytes for channel in outcome.channels)
    assert written >= 4 * WORDS
    assert 0 < outcome.cores_end < outcome.cycles
    assert outcome.flush_cycles == outcome.cycles - outcome.cores_end
    # A run in parts ends at the same cycle, which is later than the end of its cores.
    place(machine, STORES)
    outcome = machine.run(LIMIT)
    place(machine, STORES)
    assert machine.run(outcome.cores_end + 1).stop is StopReason.LIMIT
    assert machine.run(LIMIT).cycles == outcome.cycles


@pytest.mark.slow
def test_writing_back_is_progress():
    with machine_with(memory=DramConfig(latency=1, stall=0.9, seed=2), watchdog=200) as machine:
        place(machine, STORES.replace(f"li a1, {WORDS}", "li a1, 512"))
        outcome = machine.run(LIMIT)
        assert outcome.stop is StopReason.DONE, outcome.waits
        assert outcome.flush_cycles > 2 * 200


@pytest.mark.slow
def test_how_long_loads_take(machine):
    outcome = execute(machine, "dma")
    counted, latency = machine.counters(), machine.cluster.load_latency()
    dram, shared = (latency[place] for place in ("dram", "shared"))
    assert [core.loads for core in dram] == [core.loads for core in shared] == [WORDS, 0]
    assert counted[0]["loads"] > 2 * WORDS  # registers of the DMA included
    for core in (dram[0], shared[0]):
        assert 2 < core.least <= core.quantile(0.5) <= core.quantile(0.99) <= core.most
        assert core.most < outcome.cycles
        assert core.as_dict()["histogram"][str(core.least)] > 0
    assert shared[0].most < dram[0].most
    assert dram[0].most >= machine.memory.latency
    assert (dram[1].least, dram[1].most, dram[1].quantile(0.5)) == (0, 0, 0)
    records = machine.records()[0].rows
    requests = records[records["kind"] == Kind.kRequest]
    answers = records[records["kind"] == Kind.kResponse]
    latencies = []
    for request in requests:
        if request["extra"] >> 31 or not SHARED_BASE <= request["pc"] < WINDOW:
            continue
        matches = (answers["extra"] == request["extra"]) & (answers["cycle"] > request["cycle"])
        latencies.append(int(answers[matches][0]["cycle"] - request["cycle"]))
    assert sorted(latencies)[0] == shared[0].least and max(latencies) == shared[0].most


@pytest.mark.slow
def test_what_a_result_states_of_memory(machine, monkeypatch):
    text = unit_program("dma", TWO, ENTRY)
    monkeypatch.setattr(machine, "profile", dict)  # without functions
    memory_layout, options = (
        MemoryLayout(TWO, []),
        SimtOptions(memory=machine.memory, lockstep=False),
    )
    executor = RtlExecutor(machine, None, memory_layout, options)
    executor.outcome = outcome = execute(machine, "dma")
    account = executor.account()
    traffic, channels = account["memory"]["traffic"], outcome.channels
    run, peak = traffic["run"], machine.memory.bytes_per_cycle
    moved = sum(channel.read_bytes + channel.write_bytes for channel in channels)
    assert run["read_bytes"] + run["written_bytes"] == moved
    assert run["utilization"] == moved / outcome.cycles / peak
    assert account["flush_cycles"] == outcome.flush_cycles > 0
    region = account["region"]
    assert (region["begin"], region["end"]) == (outcome.first_begin, outcome.last_end)
    assert account["cycles"] == region["end"] - region["begin"]
    assert (region["begin_event"], region["end_event"]) == ("begin_marker", "end_marker")
    assert account["load_latency"]["dram"]["count"] == account["load_latency"]["shared"]["count"]
    final = list(cycle_lines(account | {"options": {"lockstep": False}, "matrix_units": None}))
    assert f"Final write-back: {outcome.flush_cycles} cycles" in final
    loads, reads = latency_lines(account)
    assert loads.startswith("Load latency, min / p50 / p99 / max (cycles): DRAM ")
    assert ", shared memory " in loads
    caches = account["cache_latency"]
    figures = [(cache["p50"], cache["p99"]) for cache in caches.values()]
    latencies = (f"{n} {a} / {b}" for n, (a, b) in zip(("L1I", "L1D", "L2"), figures, strict=True))
    assert reads == f"Read latency, p50 / p99 (cycles): {', '.join(latencies)}"
    assert caches["l1d"]["count"] == account["counters"]["l1d_reads"] > 0
    assert [core["count"] for core in caches["l1d"]["by_core"]] == [caches["l1d"]["count"], 0]
    slices = caches["l2"]["by_slice"]
    assert sum(part["count"] for part in slices) == account["counters"]["l2_reads"]
    assert min(part["count"] for part in slices) > 0
    # Traffic up to the marker equals that of a run that stops behind it.
    place(machine, text)
    assert machine.run(outcome.first_begin + 1).stop is StopReason.LIMIT
    before = machine.harness.statistics()
    assert before == machine.harness.marked()
    left = moved - sum(channel.read_bytes + channel.write_bytes for channel in before)
    assert 0 < left < moved
    spent = outcome.cycles - outcome.first_begin
    assert traffic["region"]["cycles"] == spent
    assert traffic["region"]["utilization"] == left / spent / peak


@pytest.mark.slow
def test_records_have_every_instruction(machine):
    outcome = execute(machine, "meeting")
    assert outcome.stop is StopReason.DONE
    for core, records in enumerate(machine.records()):
        kinds = records.rows["kind"]
        assert (kinds == Kind.kDone).sum() == outcome.core_instructions[core]
        assert (kinds == Kind.kRequest).sum() > 3
        assert (kinds == Kind.kFetched).sum() == (kinds == Kind.kFetch).sum() > 3
        assert len(records.values) == outcome.core_instructions[core]


@pytest.mark.slow
def test_a_run_in_parts_is_the_same_run(machine):
    whole = execute(machine, "meeting")
    place(machine, unit_program("meeting", TWO, ENTRY))
    while (part := machine.run(37)).stop is StopReason.LIMIT:
        assert part.cycles % 37 == 0
    for name in ("stop", "cycles", "core_instructions", "exit_codes", "slots", "clocked"):
        assert getattr(part, name) == getattr(whole, name), name


FAULTS = (
    (FaultCause.ILLEGAL, "here:   .word 0"),
    (FaultCause.ILLEGAL, f"        li t0, {ENTRY + 0x10_0000}\n        jr t0"),
    (FaultCause.UNKNOWN_CSR, "here:   csrr a2, 0x123"),
    (MemoryFault.UNADDRESSABLE, "        li s0, 4096\nhere:   lw a0, 0(s0)"),
    (MemoryFault.MISALIGNED, f"        li s0, {ENTRY + 1}\nhere:   lw a0, 0(s0)"),
    (MemoryFault.REFUSED, f"        li s0, {ENTRY + ROOM}\nhere:   lw a0, 0(s0)"),
    (MemoryFault.REFUSED, f"        li s0, {ENTRY + ROOM}\nhere:   sb zero, 3(s0)"),
    (MemoryFault.REFUSED, f"        li s0, {WINDOW + DMA_BASE}\nhere:   lw a0, 0x7C(s0)"),
    (MemoryFault.REFUSED, f"        li s0, {WINDOW + DMA_BASE}\nhere:   lb a0, 0(s0)"),
    (MemoryFault.REFUSED, f"        li s0, {WINDOW + WINDOW_BYTES - 256}\nhere:   sw s0, 0(s0)"),
)


@pytest.mark.slow
@pytest.mark.parametrize("lockstep", [False, True])
def test_a_fault_stops_the_run_at_once_and_is_reported(lockstep):
    with machine_with(lockstep=lockstep) as machine:
        for cause, text in FAULTS:
            place(machine, f"{text}\n        vx_tmc zero\n")
            outcome = machine.run(LIMIT)
            assert (outcome.stop, outcome.mismatch) == (StopReason.FAULT, ""), text
            assert outcome.fault.cause == cause
            assert isinstance(outcome.fault.cause, type(cause))
            assert (outcome.fault.warp, outcome.fault.lanes) == (0, 1)
            assert outcome.cycles < 400
            if "here" in text:
                steps = 2 if "li" in text else 0
                assert outcome.fault.pc in (ENTRY + 2 * steps, ENTRY + 4 * steps)
        # Another program then runs.
        assert execute(machine, "meeting").stop is StopReason.DONE


@pytest.mark.slow
def test_a_barrier_that_not_all_reach_is_a_deadlock(machine):
    text = """
        csrr a0, core_id
        bnez a0, end
        li t0, 1
        vx_bar zero, t0
end:    vx_tmc zero
    """
    place(machine, text)
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.DEADLOCK
    assert outcome.cycles < 500
    assert [(state.active, state.at_barrier) for state in machine.core_states()] == [(1, 1), (0, 0)]
    assert "core0 1, core1 0" in outcome.waits and "DMA: 0 host descriptors" in outcome.waits


@pytest.mark.slow
def test_a_hang_states_what_is_waited_for():
    with machine_with(memory=DramConfig(latency=5000), watchdog=500) as machine:
        outcome = execute(machine, "meeting")
        assert outcome.stop is StopReason.HANG
        # The host starts the cores, and each reads its first lines, in less than 200 cycles.
        assert 500 < outcome.cycles < 700
        # Lines that an instruction cache may read at a time, half of them at each master; the L2
        # reads once if both cores request a line.
        assert "m_axi0: 4 reads and 0 writes outstanding" in outcome.waits
        assert "L2 slice 0 waits for 4 DRAM reads and 0 DRAM writes" in outcome.waits
        assert "core1 has " in outcome.waits
        assert "outstanding lanes of loads and stores" in outcome.waits
        # The next lines of both cores have no MSHR until the first lines have arrived.
        assert "still counting: l2_mshr_stalls" in outcome.waits
        assert [state.pending_fetches > 0 for state in machine.core_states()] == [True, True]


@pytest.mark.slow
def test_the_host_may_be_refused(machine):
    commands = CommandList()
    commands.write(0x0F00, 1)
    place(machine, unit_program("meeting", TWO, ENTRY))
    with pytest.raises(MachineError, match="host access 1 to 0x0f00 got the response SLVERR"):
        machine.run(LIMIT, commands)
    assert machine.run(1).stop is StopReason.LIMIT
    with pytest.raises(UserError, match="commands must be None when a run continues"):
        machine.run(LIMIT, commands)
