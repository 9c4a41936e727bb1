"""Row of a micro-benchmark: an expected figure and its measurement."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spica.hw.config import CoreConfig, MachineConfig
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.iss.program_bench import small_config
from support.microbenchmarks.steady import LENGTHS, Steady, steady
from support.microbenchmarks.unrolled_code import Stream, program

__all__ = ["SHAPE", "Row", "Workbench", "core_of", "exactly", "ratio"]

#: Default core of the rows. The figures do not depend on the number of threads.
SHAPE: dict[str, Any] = {"warps": 8, "threads": 1}
#: Relative error of a quotient of two counts.
ROUNDING = 1e-9


class Workbench:
    """Measurement set-up of a row: a core and its simulation options.

    Parameters
    ----------
    config : MachineConfig
        Of one core.
    options
        Of `ProgramMachine`.

    """

    def __init__(self, config: MachineConfig, **options: Any):
        assert config.core is not None
        self.config, self.core, self.options = config, config.core, options

    def run(
        self,
        stream: Stream,
        *,
        warps: int | None = None,
        latency: int = 1,
        lengths: tuple[int, int] = LENGTHS,
    ) -> Steady:
        """Return the steady-state cost of a stream.

        Parameters
        ----------
        stream : Stream
            Of each warp.
        warps : int or None
            Number of running warps; all by default.
        latency : int
            Latency of memory, in cycles.
        lengths : tuple of int
            Lines of the two compared programs.

        """
        chosen = self.core.warps if warps is None else warps
        return steady(
            self.config,
            lambda length: program(stream, length, warps=chosen),
            lengths=lengths,
            memory=CoreMemoryConfig(latency=latency),
            **self.options,
        )


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure with its expected value.

    Parameters
    ----------
    group : str
        Group of the figure.
    name : str
        Measured quantity.
    unit : str
    limits : tuple of float
        Minimum and maximum by the definition; equal for an exact value.
    why : str
        Derivation.
    measure : callable
        Measures the figure on a `Workbench`.
    change : mapping
        Parameters of the core that differ from `SHAPE` and the defaults of `CoreConfig`.

    """

    group: str
    name: str
    unit: str
    limits: tuple[float, float]
    why: str
    measure: Callable[[Workbench], float]
    change: Mapping[str, Any] = field(default_factory=dict)

    def measured(self, **options: Any) -> float:
        """Return the measured figure; options are those of `ProgramMachine`."""
        return self.measure(Workbench(small_config(**SHAPE | dict(self.change)), **options))

    def is_within(self, value: float) -> bool:
        """Return True if a measured value is within the limits."""
        least, most = self.limits
        return least * (1 - ROUNDING) <= value <= most * (1 + ROUNDING)

    @property
    def expected(self) -> str:
        """Expected value, in words."""
        least, most = self.limits
        return f"= {least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"

    @property
    def changes(self) -> str:
        """Differences from the default core."""
        return ", ".join(f"{name} {value}" for name, value in self.change.items())


def core_of(change: Mapping[str, Any]) -> CoreConfig:
    """Return the core of rows with this change."""
    return CoreConfig(**SHAPE | dict(change))


def exactly(value: float) -> tuple[float, float]:
    """Return the limits of an exactly known figure."""
    return value, value


def ratio(count: float, cycles: float) -> float:
    """Return instructions per cycle: `count` in `cycles`, at most one."""
    return min(1.0, count / cycles)
