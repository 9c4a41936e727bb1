"""``spica resume``: continue a saved run."""

from contextlib import chdir
from pathlib import Path
from typing import Any

from ..base.errors import UserError
from ..sim.machine.saved_run import SavedRun
from .options import Flag, JsonOption, Whole
from .run import run
from .run_options import Options

__all__ = ["resume"]


def resume(
    file: Path,
    /,
    *,
    max_cycles: Whole = None,
    save: Path | None = None,
    save_at: Whole = None,
    force: Flag = False,
    json: JsonOption = None,
) -> int:
    """Continue a run saved by `spica run --save`; it ends with the same result.

    The file holds the kernel and the options of the run, and the folder in which it was started. A
    program is built again from its sources there, which must be unchanged. Cycles count from the
    start of the run. Exit codes are those of `spica run`.

    Parameters
    ----------
    file
        File written by --save.
    max_cycles
        Limit of cycles, after which the run fails.
    save
        Save the run again to this new file.
    save_at
        Cycle at which the run is saved.
    force
        Replace the file of --save.

    """
    saved = SavedRun.read(file)
    if saved.command is None:
        raise UserError(f"{file} was saved from Python; restore it there")
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in saved.command.items()
    }
    kernel, files, folder = (options.pop(name) for name in ("kernel", "files", "folder"))
    here = Path.cwd()
    # On another machine, the sources are those of the folder here.
    with chdir(folder if Path(folder).is_dir() else here):
        return run(
            kernel,
            *files,
            options=Options(
                **options,
                max_cycles=max_cycles,
                save=None if save is None else here / save,
                save_at=save_at,
                force=force,
                json=json if json in (None, "-") else str(here / json),
                restore=here / file,
            ),
        )
