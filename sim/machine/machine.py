"""Simulated machine: a design on an engine with its memory; runs can be saved and resumed."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from amaranth.lib import wiring

from ...base.build_cache import digest
from ...base.errors import UserError
from ...base.progress import Progress
from ..engine.engines import Engine, make_engine, outputs_of, require_engine
from ..engine.verilator_engine import VerilatorEngine
from ..harness.core_memory import CoreMemoryConfig
from ..harness.dram import ChannelStatistics, DramConfig
from ..harness.harness import Harness
from ..harness.stop_reason import StopReason
from ..iss.library import model_identity
from ..iss.machine import Iss
from .snapshot import Snapshot, plain, require_like
from .watchdog import WATCHDOG

__all__ = ["Machine", "require_checkpointable"]

#: Cycles between two checks for an interrupt and for console output.
CHUNKS = {"verilator": 1 << 16, "amaranth": 1 << 8}
NEVER = (1 << 64) - 1

HarnessT = TypeVar("HarnessT", bound=Harness, covariant=True)
MemoryT = TypeVar("MemoryT", bound=CoreMemoryConfig | DramConfig, covariant=True)


class Machine(Generic[HarnessT, MemoryT]):
    """Simulation of a design on an engine, with a harness that provides its memory.

    A run on Verilator can be saved between two cycles and resumed on another machine. A subclass
    creates the harness, and starts and continues runs.

    Parameters
    ----------
    design : config or Component
        Design; the build of a config is cached.
    kind : callable or None
        Factory of the component of a config; None for a cluster as it is emitted.
    name : str
        Name of the top module.
    memory : CoreMemoryConfig or DramConfig
        Memory timing.
    engine : str
        ``verilator`` or ``amaranth``; both take the same cycles.
    gating : str
        ``gated``, ``ungated`` or ``random``; Amaranth's simulator never gates.
    seed : int
        Seed of random gating and of storage without an initial value.
    access_cycles : int
        Cycles from the start of one host access to the start of the next.
    watchdog : int
        Cycles without progress after which a run stops as a hang: no transfer, no finished
        command, no instruction, no unit event. A warp whose registers are those of an earlier round
        through the same instruction polls: that, and reads of memory meanwhile, are no progress.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3.
    composed : bool
        Whether the Verilated model is composed of block models, as in `make_engine`.
    vcd : str or None
        Waveform file (VCD); None writes none.
    windows : sequence of (int, int)
        First cycle of each window of the waveform and the cycle after its last, in ascending order;
        empty for all cycles. Verilator only.
    progress : callable or None
        Progress callback of builds.

    Attributes
    ----------
    harness : Harness
        C++ harness around the design.
    verilated : str or None
        Verilated model: ``blocks`` or ``flat``; None for Amaranth's simulator.
    seconds : float
        Wall-clock time of the run.

    """

    def __init__(
        self,
        design: Any,
        kind: Callable[[Any], wiring.Component] | None,
        *,
        name: str,
        memory: MemoryT,
        engine: str = "verilator",
        gating: str = "gated",
        seed: int = 0,
        access_cycles: int = 20,
        watchdog: int = WATCHDOG,
        optimize: int = 2,
        composed: bool = False,
        vcd: str | None = None,
        windows: Sequence[tuple[int, int]] = (),
        progress: Progress | None = None,
    ):
        require_engine(engine, gating)
        self.memory, self.access_cycles = memory, access_cycles
        self.watchdog, self.gating, self.chunk = watchdog, gating, CHUNKS[engine]
        self.has_run, self.seconds = False, 0.0
        self.channels_before: list[ChannelStatistics] = []
        self.clocked_before: dict[str, int] = {}
        self.verilated = ("blocks" if composed else "flat") if engine == "verilator" else None
        self.engine, self.library = make_engine(
            design,
            name=name,
            engine=engine,
            gating=gating,
            seed=seed,
            optimize=optimize,
            composed=composed,
            vcd=vcd,
            windows=windows,
            progress=progress,
            kind=kind,
        )
        self.harness: HarnessT = self.make_harness()

    def make_harness(self) -> HarnessT:
        """Return a harness in its initial state."""
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Free the engine and close the waveform; the machine is unusable afterwards."""
        self.engine.close()
        self.harness.close()

    def write(self, address: int, data: bytes | np.ndarray) -> None:
        """Write bytes, or an array in C order, to memory by the back door."""
        self.harness.write(address, bytes_of(data))

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes of the memory that `write` accesses, as uint8."""
        return self.harness.read(address, nbytes)

    def outputs(self) -> dict[str, int]:
        """Return the design's outputs, sampled at the last clock edge."""
        return outputs_of(self.engine)

    def start_counts(self) -> None:
        """Start time, traffic and clocks of a run at 0."""
        self.channels_before = self.harness.statistics()
        self.clocked_before, self.seconds = self.engine.clocked(), 0.0

    def clock(self) -> None:
        """Clock the design until the harness stops the run."""
        started = time.perf_counter()
        while self.harness.state().stop == StopReason.NONE:
            self.engine.run(self.harness, self.chunk)
            self.print_new()
        self.seconds += time.perf_counter() - started

    def print_new(self) -> None:
        """Pass on the console output of the last cycles, if the machine has a console."""

    def facts(self) -> dict[str, Any]:
        """Return the fields of `Outcome`, for the run so far."""
        state = self.harness.state()
        return {
            "cycles": self.cycles,
            "first_command": self.since_start(state.first_command),
            "last_response": self.since_start(state.last_response or NEVER),
            "seconds": self.seconds,
            "channels": since(self.harness.statistics(), self.channels_before),
            "clocked": {
                domain: count - self.clocked_before[domain]
                for domain, count in self.engine.clocked().items()
            },
        }

    def since_start(self, cycle: int) -> int | None:
        """Return a cycle of the harness relative to the start; None if it is not in the run."""
        start = self.harness.state().start
        return None if cycle == NEVER or cycle < start else cycle - start

    @property
    def is_paused(self) -> bool:
        """Whether a run has begun and has stopped at its limit only."""
        return self.has_run and self.harness.state().stop in (StopReason.NONE, StopReason.LIMIT)

    @property
    def cycles(self) -> int:
        """Cycles since the start of the run."""
        state = self.harness.state()
        return state.cycle - state.start

    @property
    def iss(self) -> Iss | None:
        """Instruction-set model in lockstep, or None."""
        return None

    def parameters(self) -> dict[str, Any]:
        """Return the machine's parameters that affect a run."""
        return {
            "model": self.verilated,
            "gating": self.gating,
            "watchdog": self.watchdog,
            "memory": self.memory,
            "access_cycles": self.access_cycles,
        }

    def run_facts(self) -> dict[str, Any]:
        """Return the state of the run that only this object holds, for a checkpoint."""
        return {
            "channels": self.channels_before,
            "clocked": self.clocked_before,
            "seconds": self.seconds,
        }

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Restore the state that `run_facts` returned; the run continues."""
        self.channels_before = [ChannelStatistics(**statistics) for statistics in facts["channels"]]
        self.clocked_before, self.seconds = facts["clocked"], facts["seconds"]
        self.has_run = True

    def prepare_restore(self) -> None:
        """Attach the observers that the saved run had."""

    def save(self) -> Snapshot:
        """Return the state of a run that is paused, memory included."""
        engine = require_checkpointable(self.engine)
        if not self.is_paused:
            raise UserError("a run can be saved only after its start and before its end")
        return Snapshot(
            identity=self.identity,
            machine=plain(self.parameters()),
            cycle=self.cycles,
            facts=plain(self.run_facts()),
            state=engine.save(self.harness),
            model=b"" if self.iss is None else self.iss.native.save(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state, including memory, of a machine with the same parameters."""
        engine = require_checkpointable(self.engine)
        saved, model = snapshot.machine.get("model"), self.verilated
        if saved != model:
            raise UserError(f"the model must be of kind {saved}, as in the checkpoint, not {model}")
        if bool(snapshot.model) != (self.iss is not None):
            was, now = ("on", "off") if snapshot.model else ("off", "on")
            raise UserError(f"lockstep must be {was} as in the checkpoint, not {now}")
        if snapshot.identity != self.identity:
            raise UserError(
                "a checkpoint must be of this design and this version of Spica: save it again"
            )
        require_like("the machine", snapshot.machine, self.parameters())
        self.prepare_restore()
        is_taken = engine.restore(self.harness, snapshot.state)
        if self.iss is not None:
            is_taken &= self.iss.native.restore(snapshot.model)
        assert is_taken, "a state of this identity has the members of this machine"
        self.take_facts(snapshot.facts)

    @property
    def identity(self) -> str:
        """Hash of the state's format: design, harness, and model in lockstep."""
        engine = require_checkpointable(self.engine)
        return digest([engine.identity, "" if self.iss is None else model_identity()])


def require_checkpointable(engine: Engine) -> VerilatorEngine:
    """Return the engine if its state can be saved; raise `UserError` otherwise."""
    if not isinstance(engine, VerilatorEngine):
        raise UserError("checkpoints need engine verilator, not amaranth")
    return engine


def bytes_of(data: bytes | np.ndarray) -> bytes:
    """Return data, dense and in C order."""
    return data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()


def since(
    after: list[ChannelStatistics], before: list[ChannelStatistics]
) -> tuple[ChannelStatistics, ...]:
    """Return the statistics of each channel since `before`."""
    return tuple(late.since(early) for late, early in zip(after, before, strict=True))
