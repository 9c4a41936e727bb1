"""Yosys runner: runs the pip package on files in a temporary folder."""

import re
from collections.abc import Mapping, Sequence

from ..base.build_cache import scratch_folder
from ..base.yosys import yosys_version
from ..hw.emit.verilog import YosysError
from ..hw.emit.verilog import run_yosys as run_in_folder

__all__ = ["YosysError", "run_at_once", "run_yosys", "yosys_version"]


def run_yosys(script: str, files: Mapping[str, str], results: Sequence[str]) -> dict[str, str]:
    """Run `script` and return the text of each file of `results`.

    The script runs in a folder that holds `files`. It must name them without a folder, since
    several of Yosys's options fail on paths. It must write reports with ``tee -o`` or an option of
    the command, since standard output ends at the first ``abc``.
    """
    with scratch_folder() as folder:
        for file, text in files.items():
            (folder / file).write_text(text)
        (folder / "script.ys").write_text(script)
        try:
            run_in_folder(["-q", "-l", "log.txt", "-s", "script.ys"], folder)
        except YosysError as error:  # with -q, most errors are only in the log
            errors = re.findall(r"^ERROR: .*$", (folder / "log.txt").read_text(), re.MULTILINE)
            raise YosysError("; ".join(errors) or str(error)) from None
        if missing := [result for result in results if not (folder / result).exists()]:
            raise YosysError(f"Yosys must write {', '.join(missing)} and did not")
        return {result: (folder / result).read_text() for result in results}


def run_at_once(script: str, files: Mapping[str, str], results: Sequence[str]) -> dict[str, str]:
    """Run `script` like `run_yosys`, but as one Yosys command.

    Between commands, Yosys reuses the numbers of dropped names and orders wires and cells by these
    numbers. The result of a block would then depend on blocks synthesised before it. Within one
    command, every new name has a higher number than all earlier ones.
    """
    return run_yosys("script commands.ys\n", {**files, "commands.ys": script}, results)
