"""Rows of micro-benchmarks: what the definition says a core does, and what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...hw.config import ClusterConfig, CoreConfig
from ..core_memory import CoreMemoryConfig
from ..programs.bench import small_config
from .steady import LENGTHS, Steady, steady
from .streams import Stream, program

__all__ = ["SHAPE", "Row", "Workbench", "core_of", "exactly", "ratio"]

#: The core of most rows. What they show does not depend on how many threads a warp has.
SHAPE: dict[str, Any] = {"warps": 8, "threads": 1}
#: Relative error of a quotient of two counts.
ROUNDING = 1e-9


class Workbench:
    """Where a row is measured: a core, and how it is simulated.

    Parameters
    ----------
    config : ClusterConfig
        Of one core.
    options
        Of `CoreMachine`.

    """

    def __init__(self, config: ClusterConfig, **options: Any):
        assert config.core is not None
        self.config, self.core, self.options = config, config.core, options

    def run(
        self,
        stream: Stream | Callable[[int], str],
        *,
        warps: int | None = None,
        latency: int = 1,
        lengths: tuple[int, int] = LENGTHS,
    ) -> Steady:
        """Return what a stream costs in the long run, or programs of any length.

        Parameters
        ----------
        stream : Stream or callable
            What each warp carries out; or what makes a program of a number of lines.
        warps : int or None
            How many carry it out; all by default.
        latency : int
            Of memory.
        lengths : tuple of int
            Lines of the two programs that are compared.

        """
        chosen = self.core.warps if warps is None else warps

        def text(length: int) -> str:
            if isinstance(stream, Stream):
                return program(stream, length, warps=chosen)
            return stream(length)

        memory = CoreMemoryConfig(latency=latency)
        return steady(self.config, text, lengths=lengths, memory=memory, **self.options)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure, and what it must be.

    Parameters
    ----------
    group : str
        What it belongs to.
    name : str
        What is measured.
    unit : str
    limits : tuple of float
        The least and the most that the definition says; the same where it says it exactly.
    why : str
        How that follows.
    measure : callable
        Measures it at a workbench.
    change : mapping
        Parameters of the core that differ from `SHAPE` and from those of `CoreConfig`.

    """

    group: str
    name: str
    unit: str
    limits: tuple[float, float]
    why: str
    measure: Callable[[Workbench], float]
    change: Mapping[str, Any] = field(default_factory=dict)

    def measured(self, **options: Any) -> float:
        """Measure; options are those of `CoreMachine`."""
        return self.measure(Workbench(small_config(**SHAPE | dict(self.change)), **options))

    def met(self, value: float) -> bool:
        """Return whether a measured value is what it must be."""
        least, most = self.limits
        return least * (1 - ROUNDING) <= value <= most * (1 + ROUNDING)

    @property
    def expected(self) -> str:
        """What it must be, in words."""
        least, most = self.limits
        return f"= {least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"

    @property
    def changes(self) -> str:
        """What is different from the usual core."""
        return ", ".join(f"{name} {value}" for name, value in self.change.items())


def core_of(change: Mapping[str, Any]) -> CoreConfig:
    """Return the core of rows with this change."""
    return CoreConfig(**SHAPE | dict(change))


def exactly(value: float) -> tuple[float, float]:
    """Return the limits of a figure that is known."""
    return value, value


def ratio(count: float, cycles: float) -> float:
    """Return instructions per cycle where these many are done in so many cycles, at most one."""
    return min(1.0, count / cycles)
