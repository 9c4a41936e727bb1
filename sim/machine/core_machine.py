"""Simulated cores: RTL on one of the engines, with a simple memory behind it."""

from typing import Any

from amaranth.lib import wiring

from ...hw.base.errors import MachineError
from ...hw.cluster.cores import Cores
from ...hw.config import ClusterConfig
from ..engine.compiler import Progress
from ..engine.engines import make_engine
from ..harness.core_harness import CoreHarness
from ..harness.core_memory import CoreMemoryConfig
from ..harness.stop_reason import CoreStopReason, StopReason
from .core_outcome import CoreOutcome
from .program_machine import NEVER, ProgramMachine, Window

__all__ = ["CoreMachine", "Window"]


class CoreMachine(ProgramMachine):
    """Machine of the `Cores` of a config on an engine, with the simple memory behind it.

    Parameters
    ----------
    config : ClusterConfig
        With cores.
    name : str
        Name of the top module.
    engine : str
        ``verilator`` or ``amaranth``; both take the same cycles.
    memory : CoreMemoryConfig
        Timing of the memory.
    lockstep : bool
        Compares every instruction with the instruction-set model, which is then `iss`.
    record : tuple of int
        Cycles to record: the first, and the one after the last.
    gating : str
        ``gated``, ``ungated`` or ``random``; Amaranth's simulator never gates.
    seed : int
        Seed of random gating and of storage without initial value.
    watchdog : int
        Cycles without any instruction or transfer after which a run is aborted.
    optimize : int
        0 to 3, for the C++ compiler.
    vcd : str or None
        File of a waveform.
    window : tuple of int
        Cycles of the waveform: the first, and the one after the last; Verilator only.
    progress : callable or None
        Called during builds.
    design : Component or None
        Component to run instead of `Cores` of the config, with the same ports.

    Attributes
    ----------
    console : bytes
        Console output since the cores started.
    on_console : callable or None
        Called with new console output while a program runs.

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
        super().__init__(
            config,
            engine=engine,
            lockstep=lockstep,
            record=record,
            gating=gating,
            watchdog=watchdog,
        )
        self.memory = CoreMemoryConfig() if memory is None else memory
        # The cores start in the cycle after the harness's first.
        first, end = window or (0, NEVER)
        self.engine, library = make_engine(
            config if design is None else design,
            name=name,
            engine=engine,
            gating=gating,
            seed=seed,
            optimize=optimize,
            vcd=vcd,
            window=(first + 1, end + 1),
            progress=progress,
            kind=Cores,
        )
        self.surroundings = CoreHarness(library, self.engine.layout, config, self.memory)

    @property
    def harness(self) -> CoreHarness:
        """Harness around the cores."""
        return self.surroundings

    def parameters(self) -> dict[str, Any]:
        """Return the machine's parameters that affect a run."""
        return super().parameters() | {"memory": self.memory}

    def run(self, max_cycles: int = 1 << 40) -> CoreOutcome:
        """Run until the cores are idle, an error occurs, or for `max_cycles`.

        Starts from reset, or continues after a run that stopped at its limit; memory is kept.
        Raises `MachineError` if the cores violate the protocol of their memory ports.
        """
        self.advance(max_cycles)
        if self.harness.state().stop == StopReason.VIOLATION:
            raise MachineError(f"{self.harness.violation()}, in cycle {self.cycles}")
        outcome = CoreOutcome(**self.facts())
        self.begins = outcome.stop is not CoreStopReason.LIMIT
        return outcome
