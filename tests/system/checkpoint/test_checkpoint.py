"""Tests of saved runs: a run resumed from any cycle ends with identical state and counters."""

import dataclasses
import gc
from dataclasses import replace

import pytest

from spica.base.errors import MachineError
from spica.hw.isa.memory_map import CONSOLE_BASE, COUNTER_DUMP, ENTRY, SHARED_BASE
from spica.hw.presets import PRESETS
from spica.kernels.commands import Host
from spica.kernels.gemm.data import operands
from spica.kernels.gemm.host.plan import plan
from spica.kernels.gemm.host.schedule import schedule
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.program import Program
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig, Fault
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import END, START, small_config
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.trace.overview.cluster_records import ClusterRecording
from spica.sim.trace.overview.cluster_signals import cluster_signals
from support.cluster.kept_machines import AWFUL
from support.cluster.two_cores import TWO, two_cores
from support.core.core_bench import image
from support.programs import cluster_programs as units
from support.programs import samples

CORES = small_config(cores=2, warps=2, threads=2)
MATRIX = PRESETS["tiny_matrix"]
PROBLEM = GemmProblem.placed(m=11, n=9, k=17, a_pitch=20, c_pitch=12, skew=3)
SLOW = DramConfig(bytes_per_cycle=3, latency=40, stall=0.3, seed=3)
#: Requests accumulate and are answered in any order.
MUCH = replace(AWFUL, latency=40, jitter=60, stall=0.0)
#: A part of A that cannot be read.
BROKEN = Fault(start=PROBLEM.a_base + 200, end=PROBLEM.a_base + 201)
#: Every thread prints, and increments the counters that programs dump.
LOUD = f"""{START}
        csrr a1, mhartid
        li a0, {CONSOLE_BASE:#x}
        add a0, a0, a1
        li a3, {COUNTER_DUMP:#x}
        slli a4, a1, 2
        add a3, a3, a4
        li a5, 12
loop:   add a2, a1, a5
        addi a2, a2, 65
        sb a2, 0(a0)
        lw a6, 0(a3)
        add a6, a6, a5
        sw a6, 0(a3)
        addi a5, a5, -1
        bnez a5, loop
{END}"""
#: Every thread counts in its own memory, and finally in memory that was not placed.
STRAY = f"""{START}
        csrr a1, mhartid
        slli a2, a1, 2
        la a3, results
        add a3, a3, a2
        li a5, 6
loop:   lw a6, 0(a3)
        add a6, a6, a5
        sw a6, 0(a3)
        addi a5, a5, -1
        bnez a5, loop
        li a4, 0x90000000
        sw a1, 0(a4)
{END}
results: .word 0
"""
TEXTS = {"loud": LOUD, "stray": STRAY}
NEVER = 1 << 40
#: Number of saves during a run, and in its last cycles.
MOMENTS, LAST = 30, 6


class ClusterRun:
    """A program on the cores of a cluster, with all observers attached."""

    def __init__(self, program="dma", dram=SLOW, is_watched=False, **options):
        options = {"watchdog": 5000, "gating": "random"} | options
        self.machine = two_cores(memory=dram, **options)
        self.machine.allow(ENTRY, units.ROOM)
        self.commands = units.host_loads(ENTRY) if program == "host" else None
        is_own = program in TEXTS
        self.text = TEXTS[program] if is_own else units.unit_program(program, TWO, ENTRY)
        self.recording = self.watch() if is_watched else None

    def watch(self):
        """Record every unit, with coarse bins and merged intervals; profile."""
        machine, empty = self.machine, {"symbols": {}, "functions": [], "image": b""}
        text = [(ENTRY, image(self.text, units.ROOM))]
        machine.profiled = Program(
            path="none", entry=ENTRY, segments=text, text=text, runtime=range(0), **empty
        )
        layout = machine.engine.layout
        signals = cluster_signals(TWO, layout)
        return ClusterRecording(machine.harness, layout, signals, bins=16, intervals=8)

    def begin(self):
        """Place the program; the next run starts from reset."""
        units.place(self.machine, self.text)

    def advance(self, cycle):
        """Run up to a cycle; return whether the run ended before."""
        first = self.machine.begins
        given = {"commands": self.commands} if first and self.commands else {}
        self.outcome = self.machine.run(cycle if first else cycle - self.machine.cycles, **given)
        return self.outcome.stop is not StopReason.LIMIT

    def facts(self):
        """Return all observable results of the run."""
        machine = self.machine
        facts = dataclasses.asdict(replace(self.outcome, seconds=0.0))
        facts |= {f"core {k}": bytes(state) for k, state in enumerate(machine.core_states())}
        harness = machine.harness
        facts["marks"] = [bytes(marks) for marks in harness.marks()]
        facts["statistics"] = harness.statistics(), harness.marked()
        facts["latency"] = machine.cluster.load_latency()
        facts["unit counters"] = machine.cluster.events()
        facts["harness"] = bytes(harness.state())
        facts["host"] = harness.reads().tolist(), harness.errors()
        facts["memory"] = machine.read(ENTRY, units.ROOM).tobytes()
        if self.recording is not None:
            facts["profile"] = [counts.tolist() for counts in machine.profiling.counts()]
            facts["units"] = repr(self.recording.fetch())
        return facts | watched(machine)


class CoreRun(ClusterRun):
    """A sample program on cores without a cluster."""

    def __init__(self, name="parts of words", memory=AWFUL, **options):
        self.machine = ProgramMachine(CORES, memory=memory, optimize=0, gating="random", **options)
        self.machine.allow(ENTRY, samples.ROOM)
        self.commands = None
        self.text = TEXTS[name] if name in TEXTS else samples.sample(name)

    def begin(self):
        """Place the program; the next run starts from reset."""
        self.machine.begins = True
        self.machine.write(ENTRY, image(self.text, samples.ROOM))
        self.machine.write(SHARED_BASE, bytes(256))

    def facts(self):
        """Return all observable results of the run."""
        machine = self.machine
        facts = dataclasses.asdict(replace(self.outcome, seconds=0.0))
        facts |= {f"core {k}": bytes(state) for k, state in enumerate(machine.core_states())}
        facts["cores"] = bytes(machine.harness.cores_state())
        facts["memory"] = machine.read(ENTRY, samples.ROOM).tobytes()
        facts["near"] = machine.read(SHARED_BASE, 256).tobytes()
        facts["dump"] = machine.read(COUNTER_DUMP, 64).tobytes()
        return facts | watched(machine)


class HostRun:
    """A product commanded by a host."""

    def __init__(self, dram=SLOW, faults=(), is_refused=False, **options):
        self.faults, self.is_refused = faults, is_refused
        self.machine = CommandMachine(
            MATRIX, name="tiny_matrix", memory=dram, gating="random", **options
        )
        host = Host()
        host.mark()
        schedule(MATRIX, PROBLEM, host, plan(MATRIX, PROBLEM))
        if is_refused:
            rows = host.commands.rows
            for place in range(len(rows), 0, -7):
                rows.insert(place, (0, 0x0F00 + 4 * (place % 8), place, 0))
        self.commands = host.commands.array()

    def begin(self):
        """Place the operands, and give the host its list."""
        self.machine.reset()
        self.machine.inject(self.faults)
        for address, data in PROBLEM.image(*operands(PROBLEM, "random", 1)):
            self.machine.write(address, data)
        self.machine.begin(self.commands, check=not self.is_refused)

    def advance(self, cycle):
        """Run up to a cycle; return whether the run ended before."""
        return self.machine.advance(cycle)

    def facts(self):
        """Return all observable results of the run."""
        execution = self.machine.execution()
        harness = self.machine.harness
        facts = dataclasses.asdict(replace(execution, seconds=0.0, reads=execution.reads.tolist()))
        return facts | {
            "statistics": harness.statistics(),
            "harness": bytes(harness.state()),
            "commands": harness.commands().tolist(),
            "c": self.machine.read(*PROBLEM.c_region).tobytes(),
        }


def watched(machine):
    """Return counts, output and records of cores."""
    state = {"counters": machine.counters(), "console": machine.console}
    if machine.iss is not None:
        state["model"] = dataclasses.asdict(machine.iss.statistics)
    if machine.record is not None:
        for record in machine.records():
            state |= {
                f"records {record.core}": record.rows.tobytes(),
                f"values {record.core}": record.values.tobytes(),
                f"end {record.core}": (record.end, record.is_cut),
            }
    return state


WHOLE = {"lockstep": True, "record": (0, NEVER)}
RUNS = {
    "cluster": ClusterRun,
    "cluster in lockstep": lambda: ClusterRun("dma", **WHOLE),
    "cluster with barriers": lambda: ClusterRun("meeting", **WHOLE),
    "cluster with a host": lambda: ClusterRun("host", DramConfig(), **WHOLE),
    "cores": CoreRun,
    "cores in lockstep": lambda: CoreRun("divergence", **WHOLE),
    "cluster with all who look": lambda: ClusterRun("dma", is_watched=True),
    "cluster that strays": lambda: ClusterRun("stray", lockstep=True),
    "cores that stray": lambda: CoreRun("stray", lockstep=True),
    "cores with shared memory": lambda: CoreRun("shared memory"),
    "cores that print": lambda: CoreRun("loud", lockstep=True),
    "cores with much under way": lambda: CoreRun("floats", MUCH, lockstep=True),
    "host": HostRun,
    "cluster with everything": lambda: ClusterRun("host", is_watched=True, **WHOLE),
    "host that is refused": lambda: HostRun(is_refused=True),
    "host with faults": lambda: HostRun(faults=[BROKEN]),
    "cluster of blocks": lambda: ClusterRun("meeting", composed=True, **WHOLE),
    "cores of blocks": lambda: CoreRun("divergence", composed=True, **WHOLE),
    "host of blocks": lambda: HostRun(composed=True),
}


@pytest.fixture
def runs(request):
    """Return three runs of a kind, each on a separate, fresh machine."""
    made = [RUNS[request.param]() for _ in range(3)]
    yield made
    for run in made:
        run.machine.close()
    gc.collect()


def compare(state, expected, what):
    """Fail with the names of the differences."""
    wrong = [name for name in expected if state[name] != expected[name]]
    assert not wrong, f"{what}: {', '.join(wrong)}"


def assert_restorable(straight, saved, restored, step=None):
    """Save a run at intervals and at its end; resume each save to the next one, and to the end."""
    for run in (straight, saved):
        run.begin()
    assert straight.advance(NEVER) and not saved.advance(1)
    expected = straight.facts()
    end = expected["cycles"]
    # A run is over a little after its last cycle, when nothing more has arrived.
    cycles = {*range(2, end, step or end // MOMENTS), *range(end - LAST, end + LAST)}
    snapshot = saved.machine.save()
    points, is_plain = 0, saved.machine.iss is None
    for cycle in sorted(cycles):
        if saved.advance(cycle):
            break
        following = saved.machine.save()
        what = f"from cycle {snapshot.cycle}"
        restored.machine.restore(snapshot)
        assert restored.machine.cycles == snapshot.cycle
        restored.advance(following.cycle)
        reached = restored.machine.save()
        assert (reached.cycle, reached.machine) == (following.cycle, following.machine), what
        # Lockstep keeps values of earlier instructions that were not overwritten.
        assert not is_plain or reached.state == following.state, what
        restored.machine.restore(snapshot)
        assert restored.advance(NEVER)
        compare(restored.facts(), expected, what)
        snapshot = following
        points += 1
    # Saving did not change the saved run either.
    compare(saved.facts(), expected, "saved on its way")
    assert points >= MOMENTS + LAST - 1


@pytest.mark.parametrize("runs", RUNS, indirect=True)
@pytest.mark.full
def test_a_run_continues_from_many_cycles(runs):
    assert_restorable(*runs)


@pytest.mark.slow
@pytest.mark.parametrize("runs", RUNS, indirect=True)
def test_a_run_continues_from_every_cycle(runs):
    assert_restorable(*runs, step=1)


@pytest.mark.full
def test_the_watchdog_does_not_begin_anew():
    memory = CoreMemoryConfig(latency=2000)
    first, second = (CoreRun("integers", memory, watchdog=500) for _ in range(2))
    with first.machine, second.machine:
        first.begin()
        assert first.advance(NEVER)
        expected = first.outcome
        assert expected.stop is StopReason.HANG and 500 < expected.cycles < 510
        second.begin()
        assert not second.advance(100) and not second.advance(450)
        first.machine.restore(second.machine.save())
        assert first.advance(NEVER) and second.advance(NEVER)
    assert replace(first.outcome, seconds=0.0) == replace(expected, seconds=0.0)
    assert replace(second.outcome, seconds=0.0) == replace(expected, seconds=0.0)


@pytest.mark.full
def test_what_a_hanging_host_waits_for_is_the_same():
    slow = DramConfig(latency=10_000)
    first, second = (HostRun(slow, watchdog=3000) for _ in range(2))
    said = []
    with first.machine, second.machine:
        first.begin()
        second.begin()
        assert not second.advance(2000)
        saved = second.machine.save()
        for run in (first, second):
            assert run.advance(NEVER)
            with pytest.raises(MachineError, match="hangs: no progress for 3001 cycles") as caught:
                run.machine.execution()
            said.append(str(caught.value))
        first.machine.restore(saved)
        assert first.advance(NEVER)
        with pytest.raises(MachineError) as caught:
            first.machine.execution()
    assert said == 2 * [str(caught.value)]
