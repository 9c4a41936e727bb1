"""Cores under simulation: on one of the engines, with a simple memory behind them."""

import time
from collections.abc import Callable

import numpy as np
from amaranth.lib import wiring

from ..hw.config import ClusterConfig
from ..hw.core.faults import FaultCause
from ..hw.core.memory_layouts import MemoryFault
from ..hw.core.stall_reason import StallReason
from ..hw.cores import Cores
from ..hw.errors import MachineError, UserError
from ..hw.isa.csr import COUNTERS
from .amaranth_engine import AmaranthEngine
from .binding import Layout
from .compiler import Progress
from .core_harness import CoreHarness, CoreState
from .core_lockstep import CoreLockstep
from .core_memory import CoreMemoryConfig
from .core_outcome import CoreFault, CoreOutcome, CoreStop
from .core_records import CoreRecords, Recording
from .emissions import emit_cached
from .iss.machine import Iss
from .machine import ENGINES
from .stops import Stop
from .verilated import build_harness, build_model
from .verilator_engine import GATINGS, VerilatorEngine

__all__ = ["CoreMachine", "Window"]

#: The first cycle, and the one after the last.
Window = tuple[int, int]
NEVER = 1 << 62
#: Cycles between two chances to interrupt and to print.
CHUNKS = {"verilator": 1 << 16, "amaranth": 1 << 8}


class CoreMachine:
    """`Cores` of a config on an engine, with the simple memory behind it.

    Parameters
    ----------
    config : ClusterConfig
        With cores.
    name : str
        Name of the top module.
    engine : str
        ``verilator`` or ``amaranth``; both take the same cycles.
    memory : CoreMemoryConfig
        How good or bad memory is.
    lockstep : bool
        Whether every instruction is compared with the instruction-set model, which is then `iss`.
    record : tuple of int
        Of which cycles everything is kept: the first, and the one after the last.
    gating : str
        ``gated``, ``ungated`` or ``random``; Amaranth's simulator never gates.
    seed : int
        Of random gating and of storage without initial value.
    watchdog : int
        Cycles without any instruction or transfer after which a run is given up.
    optimize : int
        0 to 3, for the C++ compiler.
    vcd : str or None
        Where to write a waveform.
    window : tuple of int
        First cycle of the waveform, and the one after its last; Verilator only.
    progress : callable or None
        Told about builds.
    design : Component or None
        What to run in place of `Cores` of the config, with the same ports.

    Attributes
    ----------
    console : bytes
        All that was printed since the cores began.
    on_console : callable or None
        Told what is printed, while a program runs.

    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        name: str = "cores",
        engine: str = "verilator",
        memory: CoreMemoryConfig | None = None,
        lockstep: bool = False,
        record: Window | None = None,
        gating: str = "gated",
        seed: int = 0,
        watchdog: int = 20_000,
        optimize: int = 2,
        vcd: str | None = None,
        window: Window | None = None,
        progress: Progress | None = None,
        design: wiring.Component | None = None,
    ):
        if config.core is None:
            raise UserError("a machine of cores needs some, and this cluster has none")
        if engine not in ENGINES:
            raise UserError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}")
        if gating not in GATINGS:
            raise UserError(f"gating must be one of {', '.join(GATINGS)}, not {gating!r}")
        self.config, self.core = config, config.core
        self.memory = CoreMemoryConfig() if memory is None else memory
        self.watchdog = watchdog
        self.chunk = CHUNKS[engine]
        self.on_console: Callable[[bytes], None] | None = None
        self.engine: VerilatorEngine | AmaranthEngine
        if engine == "verilator":
            emission = (
                emit_cached(config, name, progress, Cores)
                if design is None
                else emit_cached(design, name, progress)
            )
            library = build_model(
                emission, optimize=optimize, trace=vcd is not None, progress=progress
            )
            self.engine = VerilatorEngine(library, Layout.of(emission), gating=gating, seed=seed)
            if vcd is not None:
                first, end = window or (0, NEVER)
                # The cores begin in the cycle after the harness's first.
                self.engine.trace(vcd, first + 1, end + 1)
        else:
            library = build_harness()
            self.engine = AmaranthEngine(Cores(config) if design is None else design, vcd)
        self.harness = CoreHarness(library, self.engine.layout, config, self.memory)
        self.record = record
        self.recording: Recording | None = None
        self.iss = Iss(config) if lockstep else None
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
    def console(self) -> bytes:
        """All that was printed since the cores began."""
        return self.harness.console_from(0)

    def write(self, address: int, data: bytes | np.ndarray) -> None:
        """Put bytes, or an array in C order, into DRAM or shared memory by the back door."""
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

    def run(self, max_cycles: int = 1 << 40) -> CoreOutcome:
        """Run until the cores are idle, something goes wrong, or for `max_cycles`.

        From reset, or where the last run stopped if that was at its limit; memory stays as it is.
        Raises `MachineError` where the cores break the rules of their memory ports.
        """
        if self.begins:
            self.begin()
        self.harness.begin_cores(self.begins, max_cycles=max_cycles, watchdog=self.watchdog)
        self.begins, self.has_run = False, True
        started = time.perf_counter()
        while self.harness.state().stop == Stop.NONE:
            self.engine.run(self.harness, self.chunk)
            self.print_new()
        self.seconds += time.perf_counter() - started
        if self.harness.state().stop == Stop.VIOLATION:
            raise MachineError(f"{self.harness.violation()}, in cycle {self.cycles}")
        outcome = self.outcome()
        self.begins = outcome.stop is not CoreStop.LIMIT
        return outcome

    def begin(self) -> None:
        """Bring everything but memory into its first state."""
        if self.has_run:
            if isinstance(self.engine, AmaranthEngine):
                raise UserError("Amaranth's simulator runs a program once: make another machine")
            self.engine.reset()
        self.attach()
        self.printed, self.seconds = 0, 0.0
        self.clocked = self.engine.clocked()

    def attach(self) -> None:
        """Let those look at the cores who are wanted, from the beginning."""
        self.harness.forget_observers()
        if self.iss is not None:
            if self.has_run:
                self.iss.reset()
            self.lockstep = CoreLockstep(self.harness, self.config, self.iss)
        if self.record is not None:
            self.recording = Recording(
                self.harness, cores=self.config.cores, threads=self.core.threads, window=self.record
            )

    def records(self) -> list[CoreRecords]:
        """Return what `record` asked for, core by core, as far as the cores have run."""
        if self.recording is None:
            raise UserError("a machine records only what `record` asks for, and once it has run")
        return self.recording.fetch()

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

    def outcome(self) -> CoreOutcome:
        """Return what came of the run so far."""
        stop = CoreStop[Stop(self.harness.state().stop).name]
        states = self.core_states()
        codes = [state.exit_code for state in states]
        mismatch = ""
        if self.lockstep is not None:
            mismatch = self.lockstep.finish(stop, exit_codes=codes, console=self.console)
        return CoreOutcome(
            stop=CoreStop.MISMATCH if mismatch else stop,
            cycles=self.cycles,
            instructions=sum(state.instructions for state in states),
            core_instructions=tuple(state.instructions for state in states),
            issued=tuple(state.collected for state in states),
            core_cycles=tuple(state.cycles for state in states),
            slots=tuple(
                {reason.name: state.slots[reason] for reason in StallReason} for state in states
            ),
            exit_code=next((code for code in codes if code), 0),
            fault=self.fault(states) if stop is CoreStop.FAULT else None,
            mismatch=mismatch,
            seconds=self.seconds,
            clocked={
                domain: count - self.clocked[domain]
                for domain, count in self.engine.clocked().items()
            },
        )

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
