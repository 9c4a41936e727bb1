"""Results of a run from Python: buffers by name, cycles, counters, and the complete result."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..explore.work.failure import failure_of
from ..explore.work.metrics import RUN_METRICS, figures_of
from ..sim.report.check_report import infinity_remarks
from .frames import required_pandas

if TYPE_CHECKING:
    import pandas

__all__ = ["Run", "failure", "warn_of_infinities", "workload_name"]


class Run(Mapping[str, np.ndarray]):
    """Results of one run of a machine: a mapping of its buffers, by name or by place.

    Parameters
    ----------
    result : dict
        The complete result, as ``spica run --json`` writes it.
    buffers : mapping of str to ndarray
        Final contents of every buffer.

    Attributes
    ----------
    cycles : int or None
        Cycles of the measured region, else of the whole run; None for the instruction-set model,
        which has no clock.
    counters : dict
        Event counters of the units, by the names of `hw.counters.counter_table`.
    mac_utilization : float or None
        Share of the matrix unit's multiply-adds that the product needed.

    """

    def __init__(self, result: dict[str, Any], buffers: Mapping[str, np.ndarray]):
        self.result, self.buffers = result, dict(buffers)
        self.cycles: int | None = result["cycles"]
        self.counters: dict[str, int] = result["counters"] or {}
        self.mac_utilization: float | None = result["mac_utilization"]

    def __getitem__(self, key: str | int) -> np.ndarray:
        return self.buffers[str(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.buffers)

    def __len__(self) -> int:
        return len(self.buffers)

    def __repr__(self) -> str:
        subject = self.result["kernel"] or " ".join(self.result["program"] or ())
        cycles = "no clock" if self.cycles is None else f"{self.cycles:,} cycles"
        names = ", ".join(self.buffers) or "none"
        return f"<Run of {subject} on {self.result['preset']}: {cycles}; buffers: {names}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the complete result, as ``spica run --json`` writes it."""
        return dict(self.result)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a frame of one row: machine, engine, figures of a sweep, and all counters.

        `pandas.concat` of several is a table of runs.
        """
        row = {"preset": self.result["preset"], "engine": self.result["engine"]}
        row |= figures_of(RUN_METRICS, self.result) | self.counters
        return required_pandas("to_pandas").DataFrame([row])


def warn_of_infinities(runs: Sequence[Run]) -> None:
    """Warn the caller of a method of results beyond the range of their format."""
    for run in runs:
        for note in infinity_remarks(run.result["check"]["buffers"]):
            warnings.warn(note, RuntimeWarning, stacklevel=3)


def workload_name(result: Mapping[str, Any]) -> str:
    """Return the kernel or the program of a result."""
    return result["kernel"] or " ".join(result["program"])


def failure(check: Mapping[str, Any]) -> str:
    """Return the reason of a failed check, with an example of each wrong buffer."""
    examples = [
        f"{name}{example['index']} is {example['got']}, not {example['expected']}"
        for name, buffer in check["buffers"].items()
        for example in buffer["examples"][:1]
    ]
    return "; ".join([failure_of(check), *examples])
