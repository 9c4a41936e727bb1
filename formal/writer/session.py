"""Yosys process that runs one script after the other: its start takes longer than many proofs."""

import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from spica.base.build_cache import scratch_folder
from spica.base.tools import start_tool
from spica.base.yosys import yosys_command

__all__ = ["Session", "YosysError"]

#: Seconds between looks for the end of a script.
INTERVAL = 0.005
#: Scripts after which a new process begins: the memory of one only grows.
MOST_SCRIPTS = 100


class YosysError(Exception):
    """A script failed or took too long."""


class Session:
    """Yosys in a temporary folder.

    Attributes
    ----------
    folder : Path
        Of the files that scripts name.

    """

    def __init__(self):
        self.resources = ExitStack()
        self.folder: Path = self.resources.enter_context(scratch_folder())
        self.process: subprocess.Popen[str] | None = None
        self.scripts = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.resources.close()

    def end(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process, self.scripts = None, 0

    def start(self) -> subprocess.Popen[str]:
        """Return the process, started if there is none."""
        if self.scripts >= MOST_SCRIPTS:
            self.end()
        self.scripts += 1
        process = self.process
        if process is None:
            process = self.process = start_tool(
                [*yosys_command(), "-q", "-l", "log.txt", "-s", "-"],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return process

    def run(self, script: str, results: Sequence[str], timeout: float) -> None:
        """Run a script on an empty design that writes the files `results`.

        Raises
        ------
        YosysError
            If the script fails, takes longer than `timeout` or does not write a file.

        """
        for name in results:
            (self.folder / name).unlink(missing_ok=True)
        process = self.start()
        end = self.folder / "end.txt"
        end.unlink(missing_ok=True)
        (self.folder / "script.ys").write_text(f"design -reset\n{script}")
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write("script script.ys\ntee -o end.txt log end\n")
            process.stdin.flush()
        latest = time.monotonic() + timeout
        while not end.exists():
            if process.poll() is not None:
                self.end()
                raise YosysError(self.errors())
            if time.monotonic() > latest:
                self.end()
                raise YosysError(f"not decided in {timeout:.0f} s")
            time.sleep(INTERVAL)
        if missing := [name for name in results if not (self.folder / name).exists()]:
            raise YosysError(f"Yosys must write {', '.join(missing)} and did not")

    def errors(self) -> str:
        """Return the errors of the log."""
        log = (self.folder / "log.txt").read_text()
        return "; ".join(re.findall(r"^.*ERROR: .*$", log, re.M)) or log.strip()[-300:]
