"""Run of a stored command: its JSON, its text, and the commit of the sources."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from spica.base.errors import UserError

from ..snapshot.source import tree_key
from .record import Run, shortened

__all__ = ["measured", "needs_library"]

ROOT = Path(__file__).parents[2]
#: Folders whose changes may change results.
SOURCES = ("api", "base", "cli", "explore", "hw", "kernels", "sim", "synth")
BENCH = ".venv/bin/python -m bench "
#: Names a folder with the files of a cell library, which commands name without a folder.
LIBRARY = "SPICA_PDK"
LIBRARY_OPTIONS = ("--liberty", "--sram-table")


def measured(run: Run) -> Run:
    """Return a run with the result of this tree.

    Raises
    ------
    UserError
        If the command fails or writes no JSON.

    """
    with tempfile.TemporaryDirectory() as folder:
        arguments, place = invocation(run.command, Path(folder))
        done = subprocess.run(arguments, cwd=ROOT, text=True, stdout=subprocess.PIPE)
        if done.returncode or not place.exists():
            raise UserError(
                f"`{run.command}` ended with exit code {done.returncode}\n{done.stdout}"
            )
        result = shortened(json.loads(place.read_text()))
    return Run(
        command=run.command,
        revision=revision(),
        sources=tree_key(),
        result=result,
        output=done.stdout if run.output else "",
    )


def invocation(command: str, folder: Path) -> tuple[list[str], Path]:
    """Return the arguments of a process that writes JSON into a folder, and the file's place."""
    if command.startswith(BENCH):
        name, *options = shlex.split(command.removeprefix(BENCH))
        arguments = [sys.executable, "-m", "bench", name, *options, "--results", str(folder)]
        return arguments, folder / f"{name}.json"
    place = folder / "result.json"
    program, *options = with_library(shlex.split(command))
    if program != "spica":
        raise UserError(f"a stored command must start with `spica` or `{BENCH}`, not {command!r}")
    return [str(Path(sys.executable).with_name("spica")), *options, "--json", str(place)], place


def needs_library(command: str) -> bool:
    """Return whether a command needs a cell library that this machine does not name."""
    return LIBRARY not in os.environ and any(option in command for option in LIBRARY_OPTIONS)


def with_library(arguments: Sequence[str]) -> list[str]:
    """Return arguments with the folder of the cell library before its files."""
    folder = Path(os.environ.get(LIBRARY, ""))
    before = ["", *arguments]
    return [
        str(folder / argument) if option in LIBRARY_OPTIONS else argument
        for option, argument in zip(before, arguments, strict=False)
    ]


def revision() -> str:
    """Return the last commit that changed sources."""
    command = ["git", "log", "-1", "--format=%h", "--abbrev=8", "--", *SOURCES]
    return subprocess.run(
        command, cwd=ROOT, text=True, check=True, capture_output=True
    ).stdout.strip()
