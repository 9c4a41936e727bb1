"""Processes with builds for the cache that are killed, and the state of the cache after that."""

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

from spica.base.build_cache import cache_directory
from spica.base.working_folders import PREFIX, remove_leftovers

__all__ = ["kill", "processes_of", "run", "start", "temporaries"]


def start(program: str, **options) -> subprocess.Popen:
    """Start a Python program as leader of its own process group."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.Popen(command, start_new_session=True, text=True, **options)


def run(program: str) -> str:
    """Return the output of a Python program that succeeds."""
    with start(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, errors = process.communicate(timeout=1200)
    assert process.returncode == 0, errors
    return out


def kill(process: subprocess.Popen, *, group: bool) -> bool:
    """Kill a process, or its whole group; return whether it was still running."""
    ended = process.poll() is not None
    if not ended:
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    process.communicate()
    return not ended


def temporaries(*, clean: bool = True) -> list[str]:
    """Return the names of locks and working folders in the cache, leftovers removed first."""
    root = cache_directory()
    if not root.is_dir():
        return []
    if clean:
        remove_leftovers(root)
    return [path.name for path in (*root.glob(f"{PREFIX}*"), *root.glob("*.lock"))]


def processes_of(folder: str) -> dict[int, str]:
    """Return the commands of running processes that have this folder as cache, by number."""
    commands = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"SPICA_CACHE={folder}".encode() in (process / "environ").read_bytes():
                command = (process / "cmdline").read_bytes().decode().replace("\0", " ")
                commands[int(process.name)] = command
    return commands
