"""A machine that runs programs: what those with cores alone and whole clusters have in common."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig, CoreConfig
from ...hw.core.control.faults import FaultCause
from ...hw.core.issue.stall_reason import StallReason
from ...hw.core.units.lsu.memory_layouts import MemoryFault
from ...hw.isa.csr import COUNTERS
from ...kernels.program import Program
from ..engine.amaranth_engine import AmaranthEngine
from ..engine.background_build import build_ahead
from ..engine.engines import outputs_of, require_engine
from ..harness.core_harness import CoreState, ProgramHarness
from ..harness.profile import FunctionProfile, Profiling
from ..harness.stop_reason import CoreStop, Stop
from ..iss.library import load_library
from ..iss.machine import Iss
from ..lockstep.core_lockstep import CoreLockstep
from ..trace.pipeline.core_records import CoreRecords, Recording
from .checkpoint import SavableMachine
from .core_outcome import CoreFault
from .snapshot import program_digest

__all__ = ["CHUNKS", "NEVER", "ProgramMachine", "Window"]

#: The first cycle, and the one after the last.
Window = tuple[int, int]
NEVER = 1 << 62
#: Cycles between two chances to interrupt and to print.
CHUNKS = {"verilator": 1 << 16, "amaranth": 1 << 8}


class ProgramMachine(SavableMachine):
    """Cores on an engine, with memory behind them, and those who look at them.

    A subclass makes `engine` and `harness`, writes and reads memory, and tells what comes of a
    run.

    Parameters
    ----------
    config : ClusterConfig
        With cores.
    engine : str
        ``verilator`` or ``amaranth``.
    lockstep : bool
        Whether every instruction is compared with the instruction-set model, which is then `iss`.
    record : tuple of int or None
        Of which cycles everything is kept.
    gating : str
        ``gated``, ``ungated`` or ``random``.
    watchdog : int
        Cycles without progress after which a run is given up.

    Attributes
    ----------
    profiled : Program or None
        Whose functions are told by `profile`, from the next beginning on.
    on_console : callable or None
        Told what is printed, while a program runs.

    """

    @property
    def harness(self) -> ProgramHarness:
        """What surrounds the cores."""
        raise NotImplementedError

    def __init__(
        self,
        config: ClusterConfig,
        *,
        engine: str,
        lockstep: bool,
        record: Window | None,
        gating: str,
        watchdog: int,
    ):
        if config.core is None:
            raise UserError("a machine of cores needs some, and this cluster has none")
        require_engine(engine, gating)
        self.config = config
        self.core: CoreConfig = config.core
        self.watchdog, self.gating = watchdog, gating
        self.chunk = CHUNKS[engine]
        self.on_console: Callable[[bytes], None] | None = None
        self.profiled: Program | None = None
        self.profiling: Profiling | None = None
        self.record = record
        self.recording: Recording | None = None
        self.is_lockstep = lockstep
        self.model: Iss | None = None
        if lockstep:
            build_ahead(load_library)  # while the engine is built
        self.lockstep: CoreLockstep | None = None
        self.begins = True  # with the next run
        self.has_run = False
        self.printed = 0
        self.seconds = 0.0
        self.clocked: dict[str, int] = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Free the engine and finish waveforms; the machine cannot be used any more."""
        self.engine.close()
        self.harness.close()

    @property
    def iss(self) -> Iss | None:
        """The model that the cores are compared with."""
        if self.model is None and self.is_lockstep:
            self.model = Iss(self.config)
        return self.model

    @property
    def console(self) -> bytes:
        """All that was printed since the cores began."""
        return self.harness.console_from(0)

    def write(self, address: int, data: bytes | np.ndarray) -> None:
        """Put bytes, or an array in C order, into memory by the back door."""
        values = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
        self.harness.write(address, values)
        if self.iss is not None:
            self.iss.write(address, values)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes from where `write` can put them, as uint8."""
        return self.harness.read(address, nbytes)

    def allow(self, address: int, nbytes: int) -> None:
        """Place something: a program may touch these bytes of DRAM, and only what was placed."""
        self.harness.allow(address, nbytes)
        if self.iss is not None:
            self.iss.allow(address, nbytes)

    def advance(self, max_cycles: int) -> None:
        """Run until something stops the cores, from reset or where the last run had its limit."""
        if self.begins:
            self.begin()
        self.harness.begin_cores(self.begins, max_cycles=max_cycles, watchdog=self.watchdog)
        self.begins, self.has_run = False, True
        started = time.perf_counter()
        while self.harness.state().stop == Stop.NONE:
            self.engine.run(self.harness, self.chunk)
            self.print_new()
        self.seconds += time.perf_counter() - started

    def begin(self) -> None:
        """Bring everything but memory into its first state."""
        if self.has_run:
            if isinstance(self.engine, AmaranthEngine):
                raise UserError("Amaranth's simulator runs a program once: make another machine")
            self.engine.reset()
        self.attach()
        self.printed, self.seconds = 0, 0.0
        self.clocked = self.engine.clocked()

    def parameters(self) -> dict[str, Any]:
        """Return how the machine was made, as far as it tells on a run."""
        return {
            "gating": self.gating,
            "watchdog": self.watchdog,
            "lockstep": self.is_lockstep,
            "record": self.record,
            "profiled": None if self.profiled is None else program_digest(self.profiled),
        }

    def run_facts(self) -> dict[str, Any]:
        """Return what is known of the run here alone."""
        return {"printed": self.printed, "seconds": self.seconds, "clocked": self.clocked}

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Take over what `run_facts` returned."""
        self.printed, self.seconds = facts["printed"], facts["seconds"]
        self.clocked = facts["clocked"]
        self.begins, self.has_run = False, True

    def prepare_restore(self) -> None:
        """Bring everything into its first state, with all who look at the cores."""
        self.begin()

    @property
    def is_paused(self) -> bool:
        """Whether a run has begun, and nothing but its limit has stopped it."""
        stop = self.harness.state().stop
        return self.has_run and not self.begins and stop in (Stop.NONE, Stop.LIMIT)

    def attach(self) -> None:
        """Let those look at the cores who are wanted, from the beginning."""
        self.harness.forget_observers()
        if self.iss is not None:
            if self.has_run:
                self.iss.reset()
            self.lockstep = self.make_lockstep(self.iss)
        if self.record is not None:
            self.recording = Recording(
                self.harness, cores=self.config.cores, threads=self.core.threads, window=self.record
            )

        if self.profiled is not None:
            self.profiling = Profiling(self.harness, self.config.cores, self.profiled)

    def make_lockstep(self, iss: Iss) -> CoreLockstep:
        """Return what compares the cores with the model in the run that begins."""
        return CoreLockstep(self.harness, self.config, iss)

    def records(self) -> list[CoreRecords]:
        """Return what `record` asked for, core by core, as far as the cores have run."""
        if self.recording is None:
            raise UserError("a machine records only what `record` asks for, and once it has run")
        return self.recording.fetch()

    def profile(self) -> dict[str, FunctionProfile]:
        """Return what warps spent in each function of `profiled`, as far as the cores have run."""
        if self.profiling is None:
            raise UserError("a machine profiles only a program that is `profiled`, once it has run")
        return self.profiling.functions()

    def counters(self) -> list[dict[str, int]]:
        """Return what each core's performance counters hold, by the names of ``COUNTERS``.

        Of a run that is over they tell all of it, of one at its limit all but its last 3 cycles.
        """
        words = np.array(self.engine.outputs(), np.uint32)
        places = {port.name: port.word for port in self.engine.layout.outputs}
        cores = []
        for core in range(self.config.cores):
            first = places[f"core{core}_observed_counters"]
            values = words[first : first + 2 * len(COUNTERS)].view(np.uint64)
            cores.append(dict(zip(COUNTERS, values.tolist(), strict=True)))
        return cores

    def outputs(self) -> dict[str, int]:
        """Return the design's outputs as the last clock edge found them."""
        return outputs_of(self.engine)

    def print_new(self) -> None:
        if self.on_console is not None and (new := self.harness.console_from(self.printed)):
            self.printed += len(new)
            self.on_console(new)

    @property
    def cycles(self) -> int:
        """Cycles since the cores began."""
        return self.harness.cores_state().cycles

    def core_states(self) -> list[CoreState]:
        """Return what each core has done, and how it was left."""
        return [self.harness.core_state(core) for core in range(self.config.cores)]

    def facts(self) -> dict[str, Any]:
        """Return what every outcome tells of the run so far."""
        stop = CoreStop[Stop(self.harness.state().stop).name]
        states = self.core_states()
        codes = [state.exit_code for state in states]
        mismatch = ""
        if self.lockstep is not None:
            mismatch = self.lockstep.finish(stop, exit_codes=codes, console=self.console)
        return {
            "stop": CoreStop.MISMATCH if mismatch else stop,
            "cycles": self.cycles,
            "instructions": sum(state.instructions for state in states),
            "core_instructions": tuple(state.instructions for state in states),
            "issued": tuple(state.collected for state in states),
            "core_cycles": tuple(state.cycles for state in states),
            "slots": tuple(
                {reason.name: state.slots[reason] for reason in StallReason} for state in states
            ),
            "exit_code": next((code for code in codes if code), 0),
            "fault": self.fault(states) if stop is CoreStop.FAULT else None,
            "mismatch": mismatch,
            "seconds": self.seconds,
            "clocked": {
                domain: count - self.clocked[domain]
                for domain, count in self.engine.clocked().items()
            },
        }

    def fault(self, states: list[CoreState]) -> CoreFault:
        """Return the first fault."""
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
