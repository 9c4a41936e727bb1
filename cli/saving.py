"""Options of saving and restoring a run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..base.errors import UserError
from ..sim.machine.saved_run import SavedRun
from ..sim.machine.saving import NOTHING, Saving
from ..sim.run.request.choices import require_at_least
from .files import Draft
from .options import standard_error
from .run_options import Options

__all__ = ["command_of", "saved_to"]

#: Options of `run` that a resumed run does not take from the file.
ANEW = (
    "max_cycles",
    "save",
    "save_at",
    "force",
    "trace",
    "trace_window",
    "json",
    "restore",
    "dump",
)


def command_of(kernel: str, files: Sequence[str], options: Options) -> dict[str, Any]:
    """Return the command that is stored in a saved run, for JSON."""
    return {"kernel": kernel, "files": list(files), "folder": str(Path.cwd())} | {
        name: list(map(str, value)) if isinstance(value, tuple) else value
        for name, value in asdict(options).items()
        if name not in ANEW
    }


@contextmanager
def saved_to(options: Options, command: dict[str, Any]) -> Iterator[Saving]:
    """Provide the saving and restoring of a run; report on standard error at the end.

    The file is opened at once, so that an unwritable place is refused before the run.
    """
    path, at, max_cycles = options.save, options.save_at, options.max_cycles
    restored = None if options.restore is None else SavedRun.read(options.restore)
    if path is None:
        if at is not None or options.force:
            option = "--force" if at is None else "--save-at"
            raise UserError(f"{option} needs --save")
        yield NOTHING if restored is None else Saving(restored=restored)
        return
    if at is None and max_cycles is None:
        raise UserError(
            "--save needs --save-at, the cycle at which the run is saved, or --max-cycles, the "
            "cycle at which it is saved and ends"
        )
    require_at_least(1, {"--save-at": at})
    if path.exists() and not options.force:
        raise UserError(f"{path} exists; choose another file, or --force to replace it")
    saved: list[SavedRun] = []
    with Draft(path) as draft:

        def keep(run: SavedRun):
            run.write(draft.draft)
            draft.commit()
            saved.append(run)

        report = standard_error().print
        try:
            yield Saving(keep=keep, at=at, restored=restored, command=command)
        finally:
            for run in saved:
                cycle = run.snapshot.cycle
                report(
                    f"Saved at cycle {cycle:,}: continue with spica resume {path}", soft_wrap=True
                )
        if not saved:
            cycle = max_cycles if at is None else at
            report(f"Not saved: the run ended before cycle {cycle:,}", soft_wrap=True)
