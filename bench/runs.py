"""Sequence of benchmark runs with intermediate results."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from spica.hw.base.progress import Progress

from .target import Target

__all__ = ["Case", "bandwidth_of", "carry_out"]


class Case(Protocol):
    """A benchmark case."""

    @property
    def sentence(self) -> str:
        """Description of the run."""
        ...

    @property
    def machine(self) -> str:
        """Name of the machine."""
        ...

    def run(self) -> dict[str, Any]:
        """Return the result."""
        ...


def bandwidth_of(run: dict[str, Any]) -> float:
    """Return the DRAM bandwidth of a run in bytes per cycle."""
    return run["memory"]["parameters"]["bytes_per_cycle"]


def carry_out(
    cases: Sequence[Case],
    tell: Progress,
    keep: Callable[[Any, dict[str, Any]], dict[str, Any]],
    targets: Callable[[list[dict]], Iterable[Target]],
) -> Iterator[dict]:
    """Yield the result after every run, so that an interrupted benchmark keeps its measurements.

    `keep` returns the kept part of a case's result. The config of a machine is that of its first
    run.
    """
    runs: list[dict] = []
    configs: dict[str, dict] = {}
    for number, case in enumerate(cases):
        tell(case.sentence, number, len(cases))
        result = case.run()
        configs.setdefault(case.machine, result["config"])
        runs.append(keep(case, result))
        yield {
            "runs": runs,
            "targets": [target.as_dict() for target in targets(runs)],
            "versions": result["versions"],
            "configs": configs,
        }
