"""Simulated machine: a design on an engine, DRAM with a back door, and a host with commands."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from amaranth.lib import wiring

from ...hw.base.errors import MachineError, UserError
from ...hw.config import ClusterConfig
from ..engine.compiler import Progress
from ..engine.engines import make_engine, outputs_of, require_engine
from ..engine.verilator_engine import VerilatorEngine
from ..harness.binding import Layout
from ..harness.dram import ChannelStatistics, DramConfig, Fault
from ..harness.harness import Harness
from ..harness.stop_reason import StopReason
from .checkpoint import CheckpointableMachine
from .execution import Execution
from .stop_report import describe_stop_reason
from .unit_report import describe_units

__all__ = ["Execution", "Machine"]

CHUNK = 1 << 16  # cycles between two checks for an interrupt
NEVER = (1 << 64) - 1


class Machine(CheckpointableMachine):
    """Simulation of a design with DRAM and a host.

    Parameters
    ----------
    design : config or Component
        A cluster's config, or any component with ports ``s_axil``, ``m_axi0`` … and
        ``<domain>_busy``.
    name : str
        Name of the top module.
    engine : str
        ``verilator`` or ``amaranth``.
    dram : DramConfig
        DRAM timing.
    gating : str
        ``gated``, ``ungated`` or ``random``; Amaranth's simulator never gates.
    seed : int
        Seed of random gating and of storage without an initial value.
    access_cycles : int
        Cycles from the start of one host access to the start of the next.
    watchdog : int
        Cycles without any transfer or finished command after which the run stops as a hang.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3.
    vcd : str or None
        Waveform file (VCD); None writes none.
    window : tuple of int
        First cycle of the waveform and the cycle after its last; Verilator only.
    progress : callable or None
        Progress callback of builds.
    kind : callable or None
        Factory of the component of a config; None for a cluster as it is emitted.

    """

    def __init__(
        self,
        design: Any,
        *,
        name: str,
        engine: str = "verilator",
        dram: DramConfig | None = None,
        gating: str = "gated",
        seed: int = 0,
        access_cycles: int = 20,
        watchdog: int = 50_000,
        optimize: int = 2,
        vcd: str | None = None,
        window: tuple[int, int] | None = None,
        progress: Progress | None = None,
        kind: Callable[[Any], wiring.Component] | None = None,
    ):
        require_engine(engine, gating)
        self.config = design if isinstance(design, ClusterConfig) else None
        self.dram = DramConfig() if dram is None else dram
        self.watchdog, self.gating, self.access_cycles = watchdog, gating, access_cycles
        self.is_started, self.seconds = False, 0.0
        self.channels_before: list[ChannelStatistics] = []
        self.clocked_before: dict[str, int] = {}
        self.engine, library = make_engine(
            design,
            name=name,
            engine=engine,
            gating=gating,
            seed=seed,
            optimize=optimize,
            vcd=vcd,
            window=window,
            progress=progress,
            kind=kind,
        )
        self.make_harness = partial(
            Harness,
            library,
            self.engine.layout.table(),
            self.dram,
            channels=channels_of(self.engine.layout),
            interleave_bytes=getattr(getattr(design, "axi", None), "interleave_bytes", 64),
            access_cycles=access_cycles,
        )
        self.surroundings = self.make_harness()

    @property
    def harness(self) -> Harness:
        """C++ harness around the design."""
        return self.surroundings

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def reset(self) -> None:
        """Reset the design at any time (Verilator only); host and DRAM restart, DRAM empty."""
        assert isinstance(self.engine, VerilatorEngine), "only Verilator's models can be reset"
        self.engine.reset()
        self.surroundings.close()
        self.surroundings = self.make_harness()
        self.is_started = False

    def close(self) -> None:
        """Free the engine and close the waveform; the machine is unusable afterwards."""
        self.engine.close()
        self.harness.close()

    def write(self, address: int, array: np.ndarray | bytes) -> None:
        """Write an array, dense and in C order, to DRAM by the back door."""
        data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
        self.harness.write(address, data)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes of DRAM by the back door, as uint8."""
        return self.harness.read(address, nbytes)

    def inject(self, faults: Sequence[Fault]) -> None:
        """Make accesses to these ranges of DRAM return SLVERR; this replaces earlier ranges."""
        self.harness.inject(faults)

    def execute(
        self, commands: np.ndarray, max_cycles: int = 1 << 40, *, check: bool = True
    ) -> Execution:
        """Run a command list until it is done and the machine idle.

        Raises `MachineError` on a hang, at the cycle limit and on a violated AXI rule. An access
        with an error response raises too if `check`; otherwise it is recorded in the result.
        """
        self.begin(commands, check=check)
        self.advance(max_cycles)
        return self.execution()

    def begin(self, commands: np.ndarray, *, check: bool = True) -> None:
        """Load a command list into the host for `advance`; `check` is that of `execute`."""
        self.harness.begin(
            as_commands(commands), max_cycles=0, watchdog=self.watchdog, stop_on_error=check
        )
        self.channels_before = self.harness.statistics()
        self.clocked_before, self.seconds = self.engine.clocked(), 0.0
        self.is_started = True

    def advance(self, max_cycles: int) -> bool:
        """Continue the list up to cycle `max_cycles`; return whether it stopped before.

        `execution` returns the reason.
        """
        self.harness.go_on(max_cycles)
        started = time.perf_counter()
        while self.harness.state().stop == StopReason.NONE:
            self.engine.run(self.harness, CHUNK)
        self.seconds += time.perf_counter() - started
        return not self.is_paused

    @property
    def is_paused(self) -> bool:
        """Whether a list has begun and has stopped at its limit only."""
        return self.is_started and self.harness.state().stop in (StopReason.NONE, StopReason.LIMIT)

    @property
    def cycles(self) -> int:
        """Cycles since the start of the list."""
        state = self.harness.state()
        return state.cycle - state.start

    def execution(self) -> Execution:
        """Return the result of the list; raise `MachineError` if it did not end."""
        state = self.harness.state()
        if state.stop != StopReason.DONE:
            sentence = describe_stop_reason(self)
            if self.config is not None and state.stop in (StopReason.HANG, StopReason.LIMIT):
                sentence += f"; {describe_units(self, self.config)}"
            raise MachineError(sentence)
        start, before = state.start, self.channels_before
        return Execution(
            cycles=state.cycle - start,
            first_command=None
            if state.first_command == NEVER
            else state.first_command - state.start,
            last_response=(
                state.last_response - state.start if state.last_response > state.start else None
            ),
            reads=self.harness.reads(),
            errors=tuple(self.harness.errors()),
            seconds=self.seconds,
            channels=tuple(
                after.since(b) for after, b in zip(self.harness.statistics(), before, strict=True)
            ),
            clocked={
                domain: count - self.clocked_before[domain]
                for domain, count in self.engine.clocked().items()
            },
        )

    def parameters(self) -> dict[str, Any]:
        """Return the machine's parameters that affect a run."""
        return {
            "gating": self.gating,
            "watchdog": self.watchdog,
            "memory": self.dram,
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
        """Restore the state that `run_facts` returned; the list continues."""
        self.channels_before = [ChannelStatistics(**each) for each in facts["channels"]]
        self.clocked_before, self.seconds = facts["clocked"], facts["seconds"]
        self.is_started = True

    def outputs(self) -> dict[str, int]:
        """Return the design's outputs, sampled at the last clock edge."""
        return outputs_of(self.engine)


def channels_of(layout: Layout) -> int:
    """Return the number of AXI masters of the design."""
    names = {port.name for port in layout.outputs}
    count = 0
    while f"m_axi{count}_araddr" in names:
        count += 1
    return count


def as_commands(commands: np.ndarray) -> np.ndarray:
    """Return a command list in the layout of the C++ host."""
    array = np.asarray(commands)
    if array.ndim != 2 or array.shape[1] != 4 or not np.issubdtype(array.dtype, np.integer):
        raise UserError(
            f"commands must be integers of shape (n, 4), not {array.dtype} of {array.shape}"
        )
    return np.ascontiguousarray(array, np.uint32)
