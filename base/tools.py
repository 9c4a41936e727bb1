"""Processes of tools, and their end when a signal ends this process."""

import os
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["SPARED", "ToolsStoppedError", "run_tool", "start_tool", "stop_tools"]

_STOPPED = threading.Event()
#: Held while a tool starts; a signal handler may interrupt its own thread there.
_STARTS = threading.RLock()
#: Processes that end by themselves after this one, and clean up behind it.
SPARED: set[int] = set()
#: Tools that were started.
_TOOLS: weakref.WeakSet[subprocess.Popen] = weakref.WeakSet()
#: Time in which killed processes end, in seconds.
END_SECONDS = 5.0


class ToolsStoppedError(RuntimeError):
    """A tool was not started, or was ended, because this process ends."""


def start_tool(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start a tool, with options of `subprocess.Popen`; raise `ToolsStoppedError` once stopped."""
    with _STARTS:  # a tool starts before `stop_tools`, which then ends it, or not at all
        require_running(command)
        tool = subprocess.Popen(command, text=True, **options)
        _TOOLS.add(tool)
    return tool


def run_tool(
    command: Sequence[str], *, timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end, and return it with its output as text.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    timeout : float or None
        Seconds after which the tool is ended.
    **options
        Further options of `subprocess.Popen`.

    Raises
    ------
    ToolsStoppedError
        After `stop_tools`.
    subprocess.TimeoutExpired
        After `timeout`.

    """
    with start_tool(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as tool:
        try:
            output, errors = tool.communicate(timeout=timeout)
        except BaseException:
            tool.kill()
            raise
    require_running(command)
    return subprocess.CompletedProcess(command, tool.returncode, output, errors)


def require_running(command: Sequence[str]):
    """Raise `ToolsStoppedError` after `stop_tools`."""
    if _STOPPED.is_set():
        raise ToolsStoppedError(f"{command[0]} does not run: this process ends")


def stop_tools(*, others: bool = True) -> None:
    """End processes below this one, and start no further tool; a signal handler may call it.

    Without `others` only tools end, and the processes below them: a program that uses Spica may
    have processes of its own. It returns when they have ended, at the latest after `END_SECONDS`: a
    process that is killed may finish a system call, and would put a file into a folder that is
    being removed.
    """
    with _STARTS:
        _STOPPED.set()
        tools = [tool.pid for tool in _TOOLS if tool.poll() is None]

    def below() -> set[int]:
        if others:
            return set(descendants(os.getpid())) - SPARED
        return {process for tool in tools for process in (tool, *descendants(tool))}

    processes: set[int] = set()
    while new := below() - processes:
        # A stopped process starts no other one, so that none escapes between list and end.
        send(signal.SIGSTOP, new)
        processes |= new
    send(signal.SIGKILL, processes)
    limit = time.monotonic() + END_SECONDS
    while any(map(is_running, processes)) and time.monotonic() < limit:
        time.sleep(0.001)


def send(number: int, processes: Iterable[int]) -> None:
    """Send a signal to processes, some of which may have ended."""
    for process in processes:
        with suppress(OSError):
            os.kill(process, number)


def is_running(process: int) -> bool:
    """Return whether a thread of a process runs; a process that nobody waited for may be left."""
    for thread in Path(f"/proc/{process}/task").glob("*"):
        with suppress(OSError):  # it has ended
            if status_of(thread)[0] not in "ZX":
                return True
    return False


def status_of(folder: Path) -> list[str]:
    """Return the fields of a process after its name, by ``/proc``: state, parent and more."""
    # The name, in parentheses, may hold blanks.
    return (folder / "stat").read_text().rpartition(")")[2].split()


def descendants(process: int) -> list[int]:
    """Return the numbers of all processes below one, by ``/proc``; none on systems without it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            parent = int(status_of(folder)[1])
            children.setdefault(parent, []).append(int(folder.name))
    processes, waiting = [], [process]
    while waiting:
        below = children.get(waiting.pop(), [])
        processes += below
        waiting += below
    return processes
