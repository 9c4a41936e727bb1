"""Options of saving: where a run is saved, and when."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..hw.base.errors import UserError
from ..sim.machine.saved_run import SavedRun
from ..sim.machine.saving import NOTHING, UNFINISHED, Saving
from .files import Draft
from .options import standard_error
from .sizes import require_at_least

__all__ = ["command_of", "is_unfinished", "saved_to"]

#: Options of `run` that a run which goes on is given anew.
ANEW = ("max_cycles", "save", "save_at", "force", "trace", "trace_window", "json", "restore")


def command_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `run` that are kept with a saved run, for JSON."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.items()
        if name not in ANEW
    }


@contextmanager
def saved_to(
    path: Path | None,
    at: int | None,
    force: bool,
    max_cycles: int | None,
    command: dict[str, Any],
    restore: Path | None,
) -> Iterator[Saving]:
    """Give what is to be saved and restored; tell on standard error what was saved.

    The place is opened at once, so that one nobody can write to is refused before the run.
    """
    restored = None if restore is None else SavedRun.read(restore)
    if path is None:
        if at is not None or force:
            option = "--force" if at is None else "--save-at"
            raise UserError(f"{option} needs --save, the file to save the run to")
        yield NOTHING if restored is None else Saving(restored=restored)
        return
    if at is None and max_cycles is None:
        raise UserError(
            "--save needs a cycle: --save-at, in which the run is saved on its way, or "
            "--max-cycles, where it ends saved"
        )
    require_at_least(1, {"--save-at": at})
    if path.exists() and not force:
        raise UserError(f"{path} exists; --force replaces it")
    kept: list[SavedRun] = []
    with Draft(path) as draft:

        def keep(run: SavedRun):
            run.write(draft.draft)
            draft.commit()
            kept.append(run)

        say = standard_error().print
        try:
            yield Saving(keep=keep, at=at, restored=restored, command=command)
        finally:
            for run in kept:
                cycle = run.snapshot.cycle
                say(f"Saved in cycle {cycle:,}: spica resume {path} goes on", soft_wrap=True)
        if not kept:
            cycle = max_cycles if at is None else at
            say(f"Nothing was saved: the run did not come to cycle {cycle:,}", soft_wrap=True)


def is_unfinished(result: Mapping[str, Any]) -> bool:
    """Return whether a run was saved at its limit, so that there is nothing to report."""
    return result["check"]["verdict"] == UNFINISHED
