"""``spica resume``: a saved run goes on."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..hw.base.errors import UserError
from ..sim.machine.saved_run import SavedRun
from .options import JsonOption
from .run import run

__all__ = ["resume"]


def resume(
    file: Path,
    /,
    *,
    max_cycles: int | None = None,
    save: Path | None = None,
    save_at: int | None = None,
    force: Annotated[bool, Parameter(negative=())] = False,
    json: JsonOption = None,
) -> int:
    """Go on with a run that `spica run --save` has saved, on the same design, to the same end.

    What it runs, and how, is in the file; a program is built again from its sources, which must be
    those of then. Cycles are counted from the beginning of the run. Exit codes are those of `run`.

    Parameters
    ----------
    file
        What --save has written.
    max_cycles
        Cycles after which the run counts as endless.
    save
        Save the run again, as `run` does.
    save_at
        The cycle in which it is saved.
    force
        Replace what is at --save.

    """
    saved = SavedRun.read(file)
    if saved.command is None:
        raise UserError(f"{file} was saved from Python, and must be restored there")
    options = dict(saved.command)
    kernel, files = options.pop("kernel"), options.pop("files")
    return run(
        kernel,
        *files,
        **options,
        max_cycles=max_cycles,
        save=save,
        save_at=save_at,
        force=force,
        json=json,
        restore=file,
    )
