"""A machine: a design on one of the engines, DRAM with a back door, and a host that commands it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from amaranth.lib import wiring

from ..hw.config import ClusterConfig
from ..hw.errors import MachineError, UserError
from .binding import Layout
from .compiler import Progress
from .dram import ChannelStatistics, DramConfig, Fault, Harness
from .engines import make_engine, outputs_of, require_engine
from .faults import describe_units
from .stops import Stop, describe_stop
from .verilator_engine import VerilatorEngine

__all__ = ["Execution", "Machine"]

CHUNK = 1 << 16  # cycles between two chances to interrupt or to show progress
NEVER = (1 << 64) - 1


@dataclass(frozen=True)
class Execution:
    """What came of a command list; cycles count from its beginning.

    Attributes
    ----------
    cycles : int
        Clock cycles until the list was done and the machine idle.
    first_command : int or None
        When the first write was accepted (its AW handshake).
    last_response : int or None
        When the last write response of any AXI master was taken.
    reads : numpy.ndarray
        Results of the READ commands.
    errors : tuple
        (command, address, response) of each refused access.
    seconds : float
        Wall-clock time.
    channels : tuple of ChannelStatistics
        What each DRAM channel did.
    clocked : dict
        Cycles in which each clock domain had its clock.

    """

    cycles: int
    first_command: int | None
    last_response: int | None
    reads: np.ndarray
    errors: tuple[tuple[int, int, int], ...]
    seconds: float
    channels: tuple[ChannelStatistics, ...]
    clocked: dict[str, int]

    @property
    def elapsed(self) -> int:
        """Cycles from the first command's acceptance to the last write response."""
        if self.first_command is None or self.last_response is None:
            return self.cycles
        return self.last_response - self.first_command

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles per second of wall-clock time."""
        return self.cycles / max(self.seconds, 1e-9)


class Machine:
    """A design under simulation.

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
        Timing of memory.
    gating : str
        ``gated``, ``ungated`` or ``random``; Amaranth's simulator never gates.
    seed : int
        Of random gating and of storage without initial value.
    access_cycles : int
        Cycles from the start of one host access to the start of the next.
    watchdog : int
        Cycles without any transfer or finished command after which a run is given up.
    optimize : int
        0 to 3, for the C++ compiler.
    vcd : str or None
        Where to write a waveform.
    window : tuple of int
        First cycle of the waveform, and the one after its last; Verilator only.
    progress : callable or None
        Told about builds.
    kind : callable or None
        Makes the component of a config; None for a cluster as it is emitted.

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
        self.watchdog = watchdog
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
        self.harness = self.make_harness()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def reset(self) -> None:
        """Reset the design at any moment, on Verilator; host and DRAM start anew, DRAM empty."""
        assert isinstance(self.engine, VerilatorEngine), "only Verilator's models can be reset"
        self.engine.reset()
        self.harness.close()
        self.harness = self.make_harness()

    def close(self) -> None:
        """Free the engine and finish waveforms; the machine cannot be used any more."""
        self.engine.close()
        self.harness.close()

    def write(self, address: int, array: np.ndarray | bytes) -> None:
        """Put an array, dense and in C order, into DRAM by the back door."""
        data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
        self.harness.write(address, data)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes of DRAM by the back door, as uint8."""
        return self.harness.read(address, nbytes)

    def inject(self, faults: Sequence[Fault]) -> None:
        """Let accesses to these ranges of DRAM, and no others, answer with SLVERR."""
        self.harness.inject(faults)

    def execute(
        self, commands: np.ndarray, max_cycles: int = 1 << 40, *, check: bool = True
    ) -> Execution:
        """Run a command list until it is done and the machine idle.

        Raises `MachineError` for a hang, too many cycles or a break of the AXI rules; for a
        refused access too, if `check`, and otherwise goes on and reports it.
        """
        commands = as_commands(commands)
        before, clocked = self.harness.statistics(), self.engine.clocked()
        self.harness.begin(
            commands, max_cycles=max_cycles, watchdog=self.watchdog, stop_on_error=check
        )
        started = time.perf_counter()
        while self.harness.state().stop == Stop.NONE:
            self.engine.run(self.harness, CHUNK)
        seconds = time.perf_counter() - started
        state = self.harness.state()
        if state.stop != Stop.DONE:
            sentence = describe_stop(self, commands)
            if self.config is not None and state.stop in (Stop.HANG, Stop.LIMIT):
                sentence += f"; {describe_units(self, self.config)}"
            raise MachineError(sentence)
        start = state.start
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
            seconds=seconds,
            channels=tuple(
                after.since(b) for after, b in zip(self.harness.statistics(), before, strict=True)
            ),
            clocked={
                domain: count - clocked[domain] for domain, count in self.engine.clocked().items()
            },
        )

    def outputs(self) -> dict[str, int]:
        """Return the design's outputs as the last clock edge found them."""
        return outputs_of(self.engine)


def channels_of(layout: Layout) -> int:
    """Return how many AXI masters the design has."""
    names = {port.name for port in layout.outputs}
    count = 0
    while f"m_axi{count}_araddr" in names:
        count += 1
    return count


def as_commands(commands: np.ndarray) -> np.ndarray:
    """Return a command list as the C++ host reads it."""
    array = np.asarray(commands)
    if array.ndim != 2 or array.shape[1] != 4 or not np.issubdtype(array.dtype, np.integer):
        raise UserError(
            f"commands must be integers of shape (n, 4), not {array.dtype} of {array.shape}"
        )
    return np.ascontiguousarray(array, np.uint32)
