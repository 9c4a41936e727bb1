"""Machine that runs programs: common base of machines with cores alone and with a cluster."""

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
from ..engine.background_build import build_in_background
from ..engine.engines import outputs_of, require_engine
from ..harness.core_harness import CoreState, ProgramHarness
from ..harness.profile import FunctionProfile, Profiling
from ..harness.stop_reason import CoreStopReason, StopReason
from ..iss.library import load_library
from ..iss.machine import Iss
from ..lockstep.core_lockstep import CoreLockstep
from ..trace.pipeline.core_records import CoreRecords, Recording
from .checkpoint import CheckpointableMachine
from .core_outcome import CoreFault
from .snapshot import program_digest

__all__ = ["CHUNKS", "NEVER", "ProgramMachine", "Window"]

#: The first cycle, and the one after the last.
Window = tuple[int, int]
NEVER = 1 << 62
#: Cycles between two checks for an interrupt and for console output.
CHUNKS = {"verilator": 1 << 16, "amaranth": 1 << 8}


class ProgramMachine(CheckpointableMachine):
    """Cores on an engine, with memory and observers: lockstep, recording and profile.

    A subclass creates `engine` and `harness`, accesses memory, and returns the outcome of a run.

    Parameters
    ----------
    config : ClusterConfig
        Config with cores.
    engine : str
        ``verilator`` or ``amaranth``.
    lockstep : bool
        Whether to compare every instruction with the instruction-set model, which is then `iss`.
    record : tuple of int or None
        Recorded cycles: the first, and the one after the last.
    gating : str
        ``gated``, ``ungated`` or ``random``.
    watchdog : int
        Cycles without progress after which the run stops as a hang.

    Attributes
    ----------
    profiled : Program or None
        Program for `profile`, effective from the next start.
    on_console : callable or None
        Callback for console output while a program runs.

    """

    @property
    def harness(self) -> ProgramHarness:
        """C++ harness around the cores."""
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
            raise UserError("the machine needs cores; this cluster has none")
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
            build_in_background(load_library)  # while the engine is built
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
        """Free the engine and close the waveform; the machine is unusable afterwards."""
        self.engine.close()
        self.harness.close()

    @property
    def iss(self) -> Iss | None:
        """Instruction-set model in lockstep, or None."""
        if self.model is None and self.is_lockstep:
            self.model = Iss(self.config)
        return self.model

    @property
    def console(self) -> bytes:
        """Console output since the start of the cores."""
        return self.harness.console_from(0)

    def write(self, address: int, data: bytes | np.ndarray) -> None:
        """Write bytes, or an array in C order, to memory by the back door."""
        values = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
        self.harness.write(address, values)
        if self.iss is not None:
            self.iss.write(address, values)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes of the memory that `write` accesses, as uint8."""
        return self.harness.read(address, nbytes)

    def allow(self, address: int, nbytes: int) -> None:
        """Place a region of DRAM: programs may access placed regions only."""
        self.harness.allow(address, nbytes)
        if self.iss is not None:
            self.iss.allow(address, nbytes)

    def advance(self, max_cycles: int) -> None:
        """Run until the cores stop, from reset or from the limit of the previous run."""
        if self.begins:
            self.begin()
        self.harness.begin_cores(self.begins, max_cycles=max_cycles, watchdog=self.watchdog)
        self.begins, self.has_run = False, True
        started = time.perf_counter()
        while self.harness.state().stop == StopReason.NONE:
            self.engine.run(self.harness, self.chunk)
            self.print_new()
        self.seconds += time.perf_counter() - started

    def begin(self) -> None:
        """Reset everything except memory to its initial state."""
        if self.has_run:
            if isinstance(self.engine, AmaranthEngine):
                raise UserError("engine amaranth runs one program only: create another machine")
            self.engine.reset()
        self.attach()
        self.printed, self.seconds = 0, 0.0
        self.clocked = self.engine.clocked()

    def parameters(self) -> dict[str, Any]:
        """Return the machine's parameters that affect a run."""
        return {
            "gating": self.gating,
            "watchdog": self.watchdog,
            "lockstep": self.is_lockstep,
            "record": self.record,
            "profiled": None if self.profiled is None else program_digest(self.profiled),
        }

    def run_facts(self) -> dict[str, Any]:
        """Return the state of the run that only this object holds, for a checkpoint."""
        return {"printed": self.printed, "seconds": self.seconds, "clocked": self.clocked}

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Restore the state that `run_facts` returned."""
        self.printed, self.seconds = facts["printed"], facts["seconds"]
        self.clocked = facts["clocked"]
        self.begins, self.has_run = False, True

    def prepare_restore(self) -> None:
        """Reset everything and attach the observers of the cores."""
        self.begin()

    @property
    def is_paused(self) -> bool:
        """Whether a run has begun and has stopped at its limit only."""
        stop = self.harness.state().stop
        return self.has_run and not self.begins and stop in (StopReason.NONE, StopReason.LIMIT)

    def attach(self) -> None:
        """Attach lockstep, recording and profile to the cores, as far as requested."""
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
        """Return the lockstep comparison for the run that begins."""
        return CoreLockstep(self.harness, self.config, iss)

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

        They cover a finished run completely; at a limit, all but the last 3 cycles.
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
        """Return the design's outputs, sampled at the last clock edge."""
        return outputs_of(self.engine)

    def print_new(self) -> None:
        if self.on_console is not None and (new := self.harness.console_from(self.printed)):
            self.printed += len(new)
            self.on_console(new)

    @property
    def cycles(self) -> int:
        """Cycles since the start of the cores."""
        return self.harness.cores_state().cycles

    def core_states(self) -> list[CoreState]:
        """Return the state and counts of each core."""
        return [self.harness.core_state(core) for core in range(self.config.cores)]

    def facts(self) -> dict[str, Any]:
        """Return the fields that all outcomes have in common, for the run so far."""
        stop = CoreStopReason[StopReason(self.harness.state().stop).name]
        states = self.core_states()
        codes = [state.exit_code for state in states]
        mismatch = ""
        if self.lockstep is not None:
            mismatch = self.lockstep.finish(stop, exit_codes=codes, console=self.console)
        return {
            "stop": CoreStopReason.MISMATCH if mismatch else stop,
            "cycles": self.cycles,
            "instructions": sum(state.instructions for state in states),
            "core_instructions": tuple(state.instructions for state in states),
            "issued": tuple(state.collected for state in states),
            "core_cycles": tuple(state.cycles for state in states),
            "slots": tuple(
                {reason.name: state.slots[reason] for reason in StallReason} for state in states
            ),
            "exit_code": next((code for code in codes if code), 0),
            "fault": self.fault(states) if stop is CoreStopReason.FAULT else None,
            "mismatch": mismatch,
            "seconds": self.seconds,
            "clocked": {
                domain: count - self.clocked[domain]
                for domain, count in self.engine.clocked().items()
            },
        }

    def fault(self, states: list[CoreState]) -> CoreFault:
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
