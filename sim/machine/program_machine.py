"""Machine that runs programs: cores alone with a simple memory, or a cluster with DRAM."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from amaranth.lib import wiring

from ...base.errors import MachineError, UserError
from ...base.native_interface import NativeStructure
from ...hw.cluster.cores import Cores
from ...hw.config import CoreConfig, MachineConfig
from ...hw.core.control.faults import FaultCause
from ...hw.core.issue.stall_reason import StallReason
from ...hw.isa.csr import COUNTERS
from ...hw.isa.operations import Port
from ...hw.lib.interfaces.memory_fault import MemoryFault
from ...kernels.commands import CommandList
from ...kernels.program import Program
from ..engine.amaranth_engine import AmaranthEngine
from ..engine.background_build import build_in_background
from ..harness.cluster_harness import ClusterHarness, observed_cluster
from ..harness.core_harness import CoreHarness, ProgramHarness, marked_cycles
from ..harness.core_memory import CoreMemoryConfig
from ..harness.dram import DramConfig
from ..harness.launch import Launch, require_launches, require_registers
from ..harness.profile import FunctionProfile, Profiling
from ..harness.stop_reason import StopReason
from ..iss.library import load_library
from ..iss.machine import Iss
from ..lockstep.lockstep import Lockstep
from ..trace.pipeline.core_records import CoreRecords, Recording
from .cluster_waits import describe_waits
from .machine import Machine, bytes_of, since
from .program_outcome import CoreFault, ProgramOutcome, UnitUse
from .snapshot import program_digest
from .watchdog import WATCHDOG, sweep_cycles

__all__ = ["NEVER", "ProgramMachine", "Window"]

#: The first cycle, and the one after the last.
Window = tuple[int, int]
NEVER = 1 << 62
#: Parameters of a machine of cores alone, and of a cluster, unless given.
CORES: dict[str, Any] = {"kind": Cores, "name": "cores", "watchdog": 20_000}
CLUSTER: dict[str, Any] = {
    "kind": observed_cluster,
    "name": "observed_cluster",
    "watchdog": WATCHDOG,
}


class ProgramMachine(Machine[ProgramHarness, CoreMemoryConfig | DramConfig]):
    """Cores on an engine that run a program, with lockstep, recording and profile.

    `memory` selects the design. With `CoreMemoryConfig`, it is the `Cores` of the config with a
    simple memory at their ports; a run ends when the cores are idle.

    With `DramConfig`, it is the observed cluster with DRAM behind its AXI masters and a host that
    starts the cores. The back door accesses DRAM only and bypasses the caches: read it after a run,
    write it before. A core's request to DRAM that was not placed stops the run as a fault. A run
    ends when every unit is idle and the L2 is flushed.

    Parameters
    ----------
    config : MachineConfig
        Config with cores.
    memory : CoreMemoryConfig or DramConfig or None
        Memory timing; None for the default of `CoreMemoryConfig`.
    lockstep : bool
        Whether to compare every instruction with the instruction-set model, which is then `iss`.
    ignores_races : bool
        Whether lockstep continues after a load that missed a store for want of a fence, with the
        value of the core.
    record : tuple of int or None
        Recorded cycles: the first, and the one after the last.
    windows : sequence of (int, int)
        First cycle of each window of the waveform and the cycle after its last, in ascending order;
        empty for all cycles. Verilator only.
    design : Component or None
        Component to run instead of that of the config, with the same ports.
    options
        Further parameters of `Machine`.

    Attributes
    ----------
    profiled : Program or None
        Program for `profile`, effective from the next start.
    on_console : callable or None
        Callback for console output while a program runs.

    """

    def __init__(
        self,
        config: MachineConfig,
        *,
        memory: CoreMemoryConfig | DramConfig | None = None,
        lockstep: bool = False,
        ignores_races: bool = False,
        record: Window | None = None,
        windows: Sequence[Window] = (),
        design: wiring.Component | None = None,
        **options: Any,
    ):
        self.made = {"memory": memory, "lockstep": lockstep, "ignores_races": ignores_races}
        self.made |= {"design": design, **options}
        if config.core is None:
            raise UserError("the machine needs cores; this cluster has none")
        self.config = config
        self.core: CoreConfig = config.core
        self.on_console: Callable[[bytes], None] | None = None
        self.profiled: Program | None = None
        self.profiling: Profiling | None = None
        self.record = record
        self.recording: Recording | None = None
        self.is_lockstep, self.ignores_races = lockstep, ignores_races
        self.model: Iss | None = None
        self.lockstep: Lockstep | None = None
        self.placed: list[tuple[int, int]] = []
        self.begins = True  # with the next run
        self.launches: Sequence[Launch] = [Launch()] * config.clusters
        self.printed = 0
        if lockstep:
            build_in_background(load_library)  # while the engine is built
        defaults = CLUSTER
        memory = memory or CoreMemoryConfig()
        if not isinstance(memory, DramConfig):
            defaults = CORES
            # The cores start in the cycle after the harness's first.
            windows = [(first + 1, end + 1) for first, end in windows]
        watchdog = max(defaults["watchdog"], memory.slowest) + sweep_cycles(config)
        defaults = defaults | {"memory": memory, "windows": windows, "watchdog": watchdog}
        options = defaults | options
        super().__init__(config if design is None else design, **options)

    def twin(self, record: Window) -> "ProgramMachine":
        """Return an equal machine before its first run, which records these cycles."""
        return ProgramMachine(self.config, **self.made | {"record": record, "vcd": None})

    def make_harness(self) -> ProgramHarness:
        """Return the harness with the machine's memory."""
        design, memory = (self.library, self.engine.layout, self.config), self.memory
        if isinstance(memory, DramConfig):
            return ClusterHarness(*design, memory, self.access_cycles)
        return CoreHarness(*design, memory)

    @property
    def cluster(self) -> ClusterHarness:
        """Harness of a cluster, with event counters and latencies."""
        assert isinstance(self.harness, ClusterHarness), "cores alone have no units"
        return self.harness

    @property
    def iss(self) -> Iss | None:
        """Instruction-set model in lockstep, or None."""
        if self.model is None and self.is_lockstep:
            self.model = Iss(self.config, alone=not isinstance(self.memory, DramConfig))
        return self.model

    @property
    def console(self) -> bytes:
        """Console output since the start; of a cluster, in the order of arrival at the host."""
        return self.harness.console_from(0)

    def write(self, address: int, data: bytes | np.ndarray) -> None:
        """Write bytes, or an array in C order, to memory by the back door."""
        super().write(address, data)
        if self.iss is not None:
            self.iss.write(address, bytes_of(data))

    def allow(self, address: int, nbytes: int) -> None:
        """Place a region of DRAM: programs may access placed regions only.

        Lockstep compares the placed regions of a cluster with the model's after the program's end.
        """
        self.harness.allow(address, nbytes)
        self.placed.append((address, nbytes))
        if self.iss is not None:
            self.iss.allow(address, nbytes)

    def limit_stacks(self, top: int, nbytes: int) -> None:
        """Report a stack that grows into the next one, in lockstep."""
        if self.iss is not None:
            self.iss.limit_stacks(top, nbytes)

    def run(
        self,
        max_cycles: int = 1 << 40,
        commands: CommandList | None = None,
        launches: Sequence[Launch] = (),
    ) -> ProgramOutcome:
        """Run until everything is idle, an error occurs, or `max_cycles` have passed.

        Starts from reset, or continues after a run that stopped at its limit; memory is kept. The
        host starts the cores of each cluster at its entry in `launches`, by default all clusters
        with the same program, then executes `commands` in parallel to them. Raises
        `MachineError` if cores alone violate the protocol of their memory ports, or if a host
        access gets an error response.
        """
        if self.begins:
            self.launches = launches or [Launch()] * self.config.clusters
            require_launches(self.launches, self.config.clusters)
            require_registers(self.launches, self.config.clusters)
            self.harness.prepare(commands, self.launches)
            self.begin()
        elif commands is not None or launches:
            raise UserError("commands and launches must be left out when a run continues")
        self.harness.begin_cores(self.begins, max_cycles=max_cycles, watchdog=self.watchdog)
        self.begins, self.has_run = False, True
        self.clock()
        if error := self.harness.error():
            self.begins = True
            raise MachineError(error)
        outcome = self.outcome()
        self.begins = outcome.stop is not StopReason.LIMIT
        return outcome

    def begin(self) -> None:
        """Reset everything except memory to its initial state."""
        if self.has_run:
            if isinstance(self.engine, AmaranthEngine):
                raise UserError("engine amaranth runs one program only: create another machine")
            self.harness.renew()
            self.engine.reset()
        self.attach()
        self.printed = 0
        self.start_counts()

    def attach(self) -> None:
        """Attach lockstep, recording and profile to the cores, as far as requested."""
        self.harness.remove_observers()
        if self.iss is not None:
            self.iss.reset(launches=self.launches)
            self.lockstep = Lockstep(
                self.harness,
                self.config,
                self.iss,
                self.placed,
                ignores_races=self.ignores_races,
            )
        if self.record is not None:
            self.recording = Recording(
                self.harness,
                cores=self.config.all_cores,
                threads=self.core.threads,
                window=self.record,
            )
        if self.profiled is not None:
            self.profiling = Profiling(
                self.harness, self.profiled, cores=self.config.all_cores, threads=self.core.threads
            )

    def outcome(self) -> ProgramOutcome:
        """Return the outcome of the run so far."""
        harness, states = self.harness, self.core_states()
        stop = StopReason(harness.state().stop)
        codes = [state.exit_code for state in states]
        mismatch = ""
        if self.lockstep is not None:
            mismatch = self.lockstep.finish(stop, exit_codes=codes, console=self.console)
        fault = self.fault(states) if stop is StopReason.FAULT else None
        stop, marks = StopReason.MISMATCH if mismatch else stop, harness.marks()
        return ProgramOutcome(
            **self.facts(),
            stop=stop,
            core_instructions=tuple(state.instructions for state in states),
            issued=tuple(state.collected for state in states),
            core_cycles=tuple(state.cycles for state in states),
            slots=tuple(
                {reason.name: state.slots[reason] for reason in StallReason} for state in states
            ),
            units=tuple(
                {port.name: unit_use(state, port) for port in self.core.ports} for state in states
            ),
            exit_codes=tuple(codes),
            fault=fault,
            mismatch=mismatch,
            missed=None if self.lockstep is None else self.lockstep.missed,
            mismatch_cycle=None if self.lockstep is None else self.lockstep.cycle,
            ignored_races=0 if self.lockstep is None else self.lockstep.ignored_races,
            cores_end=harness.cores_end(),
            marks=tuple(map(marked_cycles, marks)),
            begins=sum(core.begins for core in marks),
            ends=sum(core.ends for core in marks),
            marked_channels=since(harness.statistics(), harness.marked()),
            violation=harness.violation(),
            waits=self.waits(stop),
        )

    def fault(self, states: list[NativeStructure]) -> CoreFault:
        """Return the first fault of the run."""
        core = self.harness.cores_state().core
        state = states[core]
        kind = FaultCause if state.fault == 1 else MemoryFault
        return CoreFault(
            core=core,
            warp=state.fault_warp,
            pc=state.fault_pc,
            cause=kind(state.fault_cause),
            lanes=state.fault_lanes,
            address=state.fault_address,
        )

    def waits(self, stop: StopReason) -> str:
        """Return the wait states of a hung cluster; the reads of registers advance the run."""
        if stop not in (StopReason.HANG, StopReason.DEADLOCK):
            return ""
        if not isinstance(self.harness, ClusterHarness):
            return ""
        return describe_waits(self, self.harness, self.config)

    def parameters(self) -> dict[str, Any]:
        """Return the machine's parameters that affect a run."""
        return super().parameters() | {
            "lockstep": self.is_lockstep,
            "ignores_races": self.ignores_races,
            "record": self.record,
            "profiled": None if self.profiled is None else program_digest(self.profiled),
        }

    def run_facts(self) -> dict[str, Any]:
        """Return the state of the run that only this object holds, for a checkpoint."""
        return super().run_facts() | {"printed": self.printed}

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Restore the state that `run_facts` returned."""
        super().take_facts(facts)
        self.printed, self.begins = facts["printed"], False

    def prepare_restore(self) -> None:
        """Reset everything and attach the observers of the cores."""
        self.begin()

    @property
    def is_paused(self) -> bool:
        """Whether a run has begun and has stopped at its limit only."""
        return super().is_paused and not self.begins

    def records(self) -> list[CoreRecords]:
        """Return the records of each core so far, within the cycles of `record`."""
        if self.recording is None:
            raise UserError("records need a machine with `record` that has run")
        return self.recording.fetch()

    def profile(self) -> dict[str, FunctionProfile]:
        """Return the profile of each function of `profiled` so far."""
        if self.profiling is None:
            raise UserError("a profile needs a machine with `profiled` that has run")
        return self.profiling.functions()

    def counters(self) -> list[dict[str, int]]:
        """Return each core's performance counters, by the names of ``COUNTERS``.

        They cover a finished run completely; at a limit, all but the last 3 cycles. A core counts
        its cycles asleep when it wakes: those not counted yet are added here.
        """
        words = np.array(self.engine.outputs(), np.uint32)
        places = {port.name: port.word for port in self.engine.layout.outputs}
        cores = []
        for core in range(self.config.all_cores):
            first = places[f"core{core}_observed_counters"]
            values = words[first : first + 2 * len(COUNTERS)].view(np.uint64)
            counters = dict(zip(COUNTERS, values.tolist(), strict=True))
            slept = int(words[places[f"core{core}_slept"]])
            counters["cycles"] += slept
            counters["slots_barrier"] += slept * self.core.issue_width
            cores.append(counters)
        return cores

    def print_new(self) -> None:
        """Call `on_console` with the console output of the last cycles."""
        if self.on_console is not None and (new := self.harness.console_from(self.printed)):
            self.printed += len(new)
            self.on_console(new)

    @property
    def cycles(self) -> int:
        """Cycles since the start of the cores."""
        return self.harness.cores_state().cycles

    def core_states(self) -> list[NativeStructure]:
        """Return the state and counts of each core."""
        return [self.harness.core_state(core) for core in range(self.config.all_cores)]


def unit_use(state: NativeStructure, port: Port) -> UnitUse:
    """Return the use of a port's unit."""
    lost = {reason.name: state.lost[port][reason] for reason in StallReason}
    return UnitUse(state.unit_cycles[port], {name: slots for name, slots in lost.items() if slots})
