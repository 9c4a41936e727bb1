"""Checkpoint options of a run: when to save it, and the checkpoint to resume."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.errors import UserError
from .machine import Machine
from .saved_run import SavedRun
from .snapshot import plain, require_like

__all__ = ["NOTHING", "Saving", "data_digest", "saving_to"]


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Checkpoint options of a run.

    Parameters
    ----------
    keep : callable or None
        Callback that stores the checkpoint; None to save nothing.
    at : int or None
        Cycle of the checkpoint. None saves at the limit and ends the run without a verdict.
    restored : SavedRun or None
        Checkpoint to resume; None to start from the beginning.
    command : dict or None
        Options of the command line, stored in the checkpoint for ``spica resume``.

    """

    keep: Callable[[SavedRun], None] | None = None
    at: int | None = None
    restored: SavedRun | None = None
    command: dict[str, Any] | None = None

    @property
    def is_used(self) -> bool:
        """Whether the run saves or resumes a checkpoint."""
        return self.keep is not None or self.restored is not None

    def require_sound(self, engine: str, has_trace: bool, limit: int) -> None:
        """Raise `UserError` if the options do not fit the engine, the trace or the cycle limit."""
        if not self.is_used:
            return
        if engine != "verilator":
            raise UserError(f"checkpoints need engine verilator, not {engine}")
        if has_trace:
            raise UserError("a run that saves or resumes a checkpoint cannot write a trace")
        begin = self.restored.snapshot.cycle if self.restored else 0
        if limit <= begin:
            raise UserError(
                f"the cycle limit must be above {begin:,}, where the run begins, not {limit:,}"
            )
        if self.at is not None and not begin < self.at < limit:
            raise UserError(
                f"the checkpoint cycle must be above {begin:,}, where the run begins, and below "
                f"its limit of {limit:,}, not {self.at:,}"
            )

    def drive(
        self,
        machine: Machine,
        arguments: dict[str, Any],
        limit: int,
        advance: Callable[[int], object],
    ) -> bool:
        """Run a machine to its end or to `limit`, with the requested checkpoints.

        Return False if the run was saved at its limit, so that the limit is not an error.

        Parameters
        ----------
        machine : Machine
            Machine after reset.
        arguments : dict
            Arguments of the run; a resumed run must have the same.
        limit : int
            Cycle at which the run stops.
        advance : callable
            Continues the run up to a cycle.

        """
        if self.restored is not None:
            require_like("the resumed run", self.restored.arguments, arguments)
            machine.restore(self.restored.snapshot)
        for stop in (limit,) if self.at is None else (self.at, limit):
            advance(stop)
            if not machine.is_paused:
                return True
            if self.keep is not None and self.at in (None, stop):
                self.keep(
                    SavedRun(
                        arguments=plain(arguments), command=self.command, snapshot=machine.save()
                    )
                )
        return self.keep is None or self.at is not None


#: Options of a run without checkpoints.
NOTHING = Saving()


def saving_to(path: Path | str | None, at: int | None, restore: Path | str | None) -> Saving:
    """Return the options for these files; the file to save must not exist."""
    restored = None if restore is None else SavedRun.read(Path(restore))
    if (path is None) != (at is None):
        raise UserError("save and save_at must be given together: a file and a cycle")
    if path is None:
        return Saving(restored=restored)
    place = Path(path)
    require_new(place)
    return Saving(keep=lambda run: run.write(place), at=at, restored=restored)


def require_new(path: Path) -> None:
    """Raise `UserError` if the file exists."""
    if path.exists():
        raise UserError(f"{path} exists: remove it or choose another name")


def data_digest(pieces: Iterable[bytes]) -> str:
    """Return a hash of a run's input data."""
    state = hashlib.sha256()
    for piece in pieces:
        state.update(len(piece).to_bytes(8, "little"))
        state.update(piece)
    return state.hexdigest()[:16]
