"""Processes of tools, and their end when a signal ends this process."""

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["ToolsStoppedError", "run_tool", "stop_tools"]

_STOPPED = threading.Event()


class ToolsStoppedError(RuntimeError):
    """A tool was not started, or was ended, because this process ends."""


def run_tool(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end, and return it with its output as text.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    **options
        Further options of `subprocess.run`.

    Raises
    ------
    ToolsStoppedError
        After `stop_tools`.

    """
    if not _STOPPED.is_set():
        run = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        if not _STOPPED.is_set():
            return run
    raise ToolsStoppedError(f"{command[0]} does not run: this process ends")


def stop_tools() -> None:
    """End all processes below this one, and start no further tool; a signal handler may call it."""
    _STOPPED.set()
    for process in descendants(os.getpid()):
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)


def descendants(process: int) -> list[int]:
    """Return the numbers of all processes below one, by ``/proc``; none on systems without it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            # The name, in parentheses, may hold blanks.
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(folder.name))
    found, waiting = [], [process]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
