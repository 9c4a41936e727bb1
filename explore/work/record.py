"""Record of a run or of a measurement of area: status, reason and figures, for JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["ERROR", "FAIL", "ILLEGAL", "PASS", "REFUSED", "STATUSES", "STOPPED", "Record"]

PASS, FAIL, STOPPED = "pass", "fail", "stopped"
ILLEGAL, REFUSED, ERROR = "illegal", "refused", "error"
#: Statuses with their meanings.
STATUSES = {
    PASS: "The check of the run passes.",
    FAIL: "The machine computed a wrong value, or the program's exit code is not 0.",
    STOPPED: "A fault, a hang or a limit stopped the run.",
    ILLEGAL: "The config or the kernel refuses the combination of values.",
    REFUSED: "The run could not begin.",
    ERROR: "An unexpected error ended the run.",
}


@dataclass(frozen=True, kw_only=True)
class Record:
    """Outcome of one piece of work of a sweep.

    Parameters
    ----------
    status : str
        One of `STATUSES`.
    reason : str
        Reason of any status but `PASS`, one line.
    figures : mapping
        Values of metrics by name; None for a figure that the run does not have.
    counters : mapping
        Event counters of the machine by name.
    result : mapping or None
        Result of the run, as ``spica run --json`` writes it, or areas of a machine; None if the
        work did not begin.

    """

    status: str
    reason: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None

    @property
    def is_final(self) -> bool:
        """Whether a repetition has the same outcome, so that the record may be stored."""
        return self.status in (PASS, FAIL, STOPPED)

    def as_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        return asdict(self)
