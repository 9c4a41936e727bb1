"""Commands of Spica as benchmark cases: their figures, and limits of them."""

import contextlib
import io
import json
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF
from typing import Any
from unittest.mock import patch

from spica.base.progress import Progress
from spica.base.zig import zig_environment
from spica.cli.main import main as spica
from spica.cli.options import new_table
from spica.sim.machine.machine import Machine

from .target import Target

__all__ = ["Column", "Command", "command_table", "measured"]


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of Spica without the word ``spica``, and limits of its figures.

    Parameters
    ----------
    line : str
        Words of the command.
    least, most : mapping of str to float
        Limits by the dotted name of a figure of the command's JSON, or of its times.
    cache : str
        Name of a cache of this benchmark, empty at first: the command then runs in a process of
        its own. Without a name, the command shares the user's cache.

    """

    line: str
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    cache: str = ""

    def result(self, folder: Path) -> dict[str, Any]:
        """Carry the command out; return its JSON with its times in seconds.

        Raises `SystemExit` if the command does not pass.
        """
        file = folder / "result.json"
        words = [*shlex.split(self.line), "--json", str(file)]
        began, simulated, used = time.perf_counter(), 0.0, processor_seconds(RUSAGE_CHILDREN)
        if self.cache:
            code, messages = in_a_process(words, folder, folder / self.cache)
        else:
            code, messages, simulated = in_this_process(words)
        seconds = time.perf_counter() - began
        used = processor_seconds(RUSAGE_CHILDREN) - used
        if code:
            raise SystemExit(f"spica {self.line} must pass before its figures count: {messages}")
        outcome = json.loads(file.read_text())
        times = {"seconds": seconds, "processor_seconds": used}
        if simulated:
            times["cycles_per_processor_second"] = outcome["run_cycles"] / simulated
        return outcome | times

    def targets(self, figures: Mapping[str, Any]) -> Iterator[Target]:
        """Yield the limits with the figures of a result."""
        for is_least, limits in ((True, self.least), (False, self.most)):
            for name, limit in limits.items():
                title, value = f"{name} of {self.line}", found_at(figures, name)
                yield Target(name=title, value=value, limit=limit, at_least=is_least)


def in_this_process(words: Sequence[str]) -> tuple[int, str, float]:
    """Run with the user's cache; return exit code, output, and processor seconds of simulation."""
    output, clock, simulated = io.StringIO(), Machine.clock, []

    def timed(machine: Machine) -> None:
        before = processor_seconds(RUSAGE_SELF)
        clock(machine)
        simulated.append(processor_seconds(RUSAGE_SELF) - before)

    with patch.object(Machine, "clock", timed), contextlib.redirect_stdout(output):
        code = spica(words)
    return code, output.getvalue(), sum(simulated)


def in_a_process(words: Sequence[str], folder: Path, cache: Path) -> tuple[int, str]:
    """Run in a process of its own, in `folder`; return exit code and messages."""
    done = subprocess.run(
        [sys.executable, "-m", "spica.cli", *words],
        env=zig_environment() | {"SPICA_CACHE": str(cache)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


def processor_seconds(whose: int) -> float:
    """Return the processor time of this process or of the children it waited for, in seconds."""
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def found_at(figures: Mapping[str, Any], name: str) -> Any:
    """Return the figure with a dotted name; None if a part of the name has no value."""
    value: Any = figures
    for part in name.split("."):
        value = None if value is None else value.get(part)
    return value


@dataclass(frozen=True)
class Column:
    """A column of a table: dotted name of the figure, and how it is written."""

    name: str
    write: Callable[[Any], str]


def measured(
    commands: Sequence[Command], columns: Mapping[str, Column], progress: Progress
) -> Iterator[dict]:
    """Yield the figures of `columns` and all limits after every command."""
    rows, targets = [], []
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as name:
        for done, command in enumerate(commands):
            progress(f"spica {command.line}", done, len(commands))
            outcome = command.result(Path(name))
            targets += [target.as_dict() for target in command.targets(outcome)]
            figures = {column.name: found_at(outcome, column.name) for column in columns.values()}
            rows.append({"command": command.line, "figures": figures})
            yield {"commands": rows, "targets": targets}


def command_table(title: str, result: Mapping[str, Any], columns: Mapping[str, Column]):
    """Return the table of the commands in a result; a figure that a command lacks is empty."""
    table = new_table(title, "command", numbers=list(columns))
    for row in result["commands"]:
        values = [(column, row["figures"][column.name]) for column in columns.values()]
        written = ("" if value is None else column.write(value) for column, value in values)
        table.add_row(row["command"], *written)
    return table
