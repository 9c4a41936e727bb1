"""When a run is saved, and what it goes on from."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...hw.base.errors import UserError
from .saved_run import SavedRun
from .snapshot import Snapshot, plain, require_like

__all__ = ["NOTHING", "UNFINISHED", "Savable", "Saving", "data_digest", "saving_to"]

#: The verdict on a run that was saved at its limit.
UNFINISHED = "unfinished"


class Savable(Protocol):
    """A machine whose state can be kept."""

    def save(self) -> Snapshot: ...
    def restore(self, snapshot: Snapshot) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Saving:
    """What is to be saved of a run, and what the run goes on from.

    Parameters
    ----------
    keep : callable or None
        Given the saved run; None if it is not to be saved.
    at : int or None
        The cycle in which it is saved, on its way; None: when it comes to its limit, where it
        then ends without a verdict.
    restored : SavedRun or None
        What it goes on from.
    command : dict or None
        Kept with the run, for whoever resumes it.

    """

    keep: Callable[[SavedRun], None] | None = None
    at: int | None = None
    restored: SavedRun | None = None
    command: dict[str, Any] | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether anything is to be done."""
        return self.keep is not None or self.restored is not None

    def require_sound(self, engine: str, has_trace: bool, limit: int) -> None:
        """Raise unless a run on this engine, with this limit of cycles, can do what is wanted."""
        if not self.is_wanted:
            return
        if engine != "verilator":
            raise UserError(f"a run is saved and restored on engine verilator, not on {engine}")
        if has_trace:
            raise UserError("a run that is saved or restored must have no trace")
        begin = self.restored.snapshot.cycle if self.restored else 0
        if limit <= begin:
            raise UserError(
                f"the limit of cycles must be above {begin:,}, where the run begins, not {limit:,}"
            )
        if self.at is not None and not begin < self.at < limit:
            raise UserError(
                f"the cycle in which a run is saved must be above {begin:,}, where it begins, and "
                f"below its limit of {limit:,}, not {self.at:,}"
            )

    def resume(self, machine: Savable, arguments: dict[str, Any]) -> int:
        """Let a machine go on from what was saved of a run of these arguments; return the cycle."""
        if self.restored is None:
            return 0
        require_like("the run that goes on", self.restored.arguments, arguments)
        machine.restore(self.restored.snapshot)
        return self.restored.snapshot.cycle

    def stops(self, limit: int) -> Iterator[int]:
        """Yield the cycles in which a run is to stop."""
        if self.at is not None:
            yield self.at
        yield limit

    def reach(self, machine: Savable, arguments: dict[str, Any], cycle: int) -> None:
        """Save a run that is in one of its `stops`, if it is to be saved there."""
        if self.keep is None or self.at not in (None, cycle):
            return
        self.keep(
            SavedRun(arguments=plain(arguments), command=self.command, snapshot=machine.save())
        )

    @property
    def ends_saved(self) -> bool:
        """Whether the limit is where the run is saved, and no mistake of the program."""
        return self.keep is not None and self.at is None


#: Of a run that is neither saved nor restored.
NOTHING = Saving()


def saving_to(path: Path | str | None, at: int | None, restore: Path | str | None) -> Saving:
    """Return what is wanted by its files: none of that name may exist yet where it is saved."""
    restored = None if restore is None else SavedRun.read(Path(restore))
    if (path is None) != (at is None):
        raise UserError("save and save_at must be given together: the file, and the cycle")
    if path is None:
        return Saving(restored=restored)
    place = Path(path)
    require_new(place)
    return Saving(keep=lambda run: run.write(place), at=at, restored=restored)


def require_new(path: Path) -> None:
    """Raise if there is a file of that name."""
    if path.exists():
        raise UserError(f"{path} exists: remove it, or save the run under another name")


def data_digest(pieces: Iterable[bytes]) -> str:
    """Return a hash of what a run is given."""
    state = hashlib.sha256()
    for piece in pieces:
        state.update(len(piece).to_bytes(8, "little"))
        state.update(piece)
    return state.hexdigest()[:16]
