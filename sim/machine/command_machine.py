"""Machine that executes command lists of a host."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from amaranth.lib import wiring

from ...base.errors import MachineError, UserError
from ...hw.config import MachineConfig
from ..engine.verilator_engine import VerilatorEngine
from ..harness.binding import Layout
from ..harness.dram import DramConfig, Fault
from ..harness.harness import Harness
from ..harness.stop_reason import StopReason
from .machine import Machine
from .outcome import Execution
from .stop_report import describe_stop_reason
from .unit_report import describe_units

__all__ = ["CommandMachine"]


class CommandMachine(Machine[Harness, DramConfig]):
    """Simulation of a design with DRAM and a host that executes command lists.

    Parameters
    ----------
    design : config or Component
        A cluster's config, or any component with ports ``s_axil``, ``m_axi0`` … and
        ``<domain>_busy``.
    kind : callable or None
        Factory of the component of a config; None for a cluster as it is emitted.
    memory : DramConfig or None
        DRAM timing; None for the default.
    options
        Further parameters of `Machine`; `name` is required.

    """

    def __init__(
        self,
        design: Any,
        *,
        kind: Callable[[Any], wiring.Component] | None = None,
        memory: DramConfig | None = None,
        **options: Any,
    ):
        self.config = design if isinstance(design, MachineConfig) else None
        self.interleave_bytes = getattr(getattr(design, "axi", None), "interleave_bytes", 64)
        super().__init__(design, kind, memory=memory or DramConfig(), **options)

    def make_harness(self) -> Harness:
        """Return a harness in its initial state, with empty DRAM."""
        return Harness(
            self.library,
            self.engine.layout.table(),
            self.memory,
            channels=channels_of(self.engine.layout),
            interleave_bytes=self.interleave_bytes,
            access_cycles=self.access_cycles,
        )

    def reset(self) -> None:
        """Reset the design at any time (Verilator only); host and DRAM restart, DRAM empty."""
        assert isinstance(self.engine, VerilatorEngine), "only Verilator's models can be reset"
        self.engine.reset()
        self.harness.close()
        self.harness = self.make_harness()
        self.has_run = False

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
        self.start_counts()
        self.has_run = True

    def advance(self, max_cycles: int) -> bool:
        """Continue the list up to cycle `max_cycles`; return whether it stopped before.

        `execution` returns the reason.
        """
        self.harness.resume(max_cycles)
        self.clock()
        return not self.is_paused

    def execution(self) -> Execution:
        """Return the result of the list; raise `MachineError` if it did not end."""
        stop = self.harness.state().stop
        if stop != StopReason.DONE:
            sentence = describe_stop_reason(self)
            if self.config is not None and stop in (StopReason.HANG, StopReason.LIMIT):
                sentence += f"; {describe_units(self, self.config)}"
            raise MachineError(sentence)
        return Execution(
            **self.facts(), reads=self.harness.reads(), errors=tuple(self.harness.errors())
        )


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
