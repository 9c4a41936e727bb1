"""Yosys runner: runs the pip package on files in a temporary folder."""

import re
from collections.abc import Mapping, Sequence

from ..base.build_cache import scratch_folder
from ..base.tools import run_tool
from ..base.yosys import yosys_command, yosys_version

__all__ = ["YosysError", "run_at_once", "run_yosys", "yosys_version"]


class YosysError(Exception):
    """Yosys ended with an error; the message is its output."""


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
        run = run_tool([*yosys_command(), "-q", "-l", "log.txt", "-s", "script.ys"], cwd=folder)
        if run.returncode:  # with -q, most errors are only in the log
            log = folder / "log.txt"
            errors = re.findall(r"^ERROR: .*$", log.read_text(), re.MULTILINE)
            code = f"yosys ended with exit code {run.returncode}"
            raise YosysError("; ".join(errors) or run.stderr.strip() or code)
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
