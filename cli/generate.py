"""``spica generate``: Verilog, description and C header of a preset."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..hw.artifacts import MARK, artifacts
from ..hw.errors import UserError
from ..hw.rtl import require_rtl
from ..sim.emissions import emit_cached
from .files import write_together
from .options import JsonOption, JsonOutput, SetOption, configured, standard_output
from .progress import ProgressDisplay

__all__ = ["generate"]

MARK_BYTES = 200  # the mark stands within so many bytes of a file's start


def generate(
    preset: str,
    /,
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    force: Annotated[bool, Parameter(negative=())] = False,
    settings: SetOption = (),
    json: JsonOption = None,
):
    """Write a preset's Verilog, its description in JSON and its C header into a folder.

    Files of the same names that Spica wrote are replaced; others are not touched.

    Parameters
    ----------
    preset
        A preset of `spica list`.
    output
        The folder, made if it does not exist.
    force
        Replace files of the same names whoever wrote them.

    """
    config = configured(preset, settings)
    require_rtl(config)
    if output.exists() and not output.is_dir():
        raise UserError(f"--output must be a folder, and {output} is a file")
    paths = [output / f"{preset}.{suffix}" for suffix in ("v", "h", "json")]
    if not force:
        refuse_foreign(paths)
    with JsonOutput(json) as result:
        with ProgressDisplay() as progress:
            emission = emit_cached(config, preset, progress)
        texts = artifacts(emission)
        write_together([(output / name, text) for name, text in texts.items()])
        people = result.write({
            "preset": preset,
            "output": str(output),
            "files": {name: len(text.encode()) for name, text in texts.items()},
            "modules": len(emission.modules),
        })
    if people:
        out = standard_output()
        for name, text in texts.items():
            out.print(f"{output / name}: {len(text.splitlines()):,} lines", soft_wrap=True)


def refuse_foreign(paths: list[Path]):
    """Raise if a file that would be replaced was not written by Spica."""
    for path in paths:
        if not path.exists():
            continue
        if path.is_dir():
            raise UserError(f"{path} is a folder where a file must go; choose another --output")
        with path.open("rb") as file:
            if MARK.encode() not in file.read(MARK_BYTES):
                raise UserError(f"{path} was not written by Spica; --force replaces it")
