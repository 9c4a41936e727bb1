"""Tests of what a terminal and its signals see: widths, progress beside output, SIGTERM."""

import io
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from spica.api.progress import ProgressDisplay
from spica.base import tools
from spica.cli.execution import Terminal
from spica.cli.main import main
from spica.cli.options import piped_width
from support.killed_builds import processes_of


def test_columns_set_the_width_of_piped_output(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "90")
    assert main(("list",)) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) == 90
    for text, width in (("", 160), ("wide", 160), ("5", 40), ("200", 200)):
        monkeypatch.setenv("COLUMNS", text)
        assert piped_width() == width


def test_progress_waits_for_the_end_of_a_line(capsys, monkeypatch):
    monkeypatch.delenv("SPICA_PROGRESS", raising=False)
    with ProgressDisplay() as display:
        terminal = Terminal(sys.stdout, display)
        terminal(b"half a ")
        display("running", 1, 0)
        assert capsys.readouterr() == ("half a ", "")
        terminal(b"line\n")
        display("running on", 2, 0)
        assert capsys.readouterr() == ("line\n", "running on ...\n")
        terminal(b"end")
        terminal.finish()
        display("running again", 3, 0)
        assert capsys.readouterr() == ("end\n", "running again ...\n")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("PYTHONIOENCODING=ascii {} run --help", 0),
        ("PYTHONIOENCODING=latin-1 {} list", 0),
        ("PYTHONIOENCODING=ascii {} run \u00e9.c", 2),
        ("{} list >&-", 0),
        ("{} list >&- 2>&-", 0),
        ("{} run --engine >&- 2>&-", 2),
        ("set -o pipefail; {} list | head -1", 141),
        ("set -o pipefail; {} --help | head -1", 141),
    ],
)
@pytest.mark.quick(2)
def test_any_output_will_do(command, code):
    spica = f"{sys.executable} -m spica.cli"
    done = subprocess.run(["bash", "-c", command.format(spica)], capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    assert b"Error" not in done.stderr and b"Traceback" not in done.stderr


def test_characters_without_a_code_are_question_marks(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr("spica.cli.main.app", lambda *_, **__: print("5 µm"))
    assert main(["list"]) == 0
    assert stream.buffer.getvalue() == b"5 ?m\n"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.quick(1)
def test_a_signal_ends_a_build(number, tmp_path):
    command = (sys.executable, "-m", "spica.cli", "run", "vecadd", "--engine", "iss")
    environment = os.environ | {"SPICA_CACHE": str(tmp_path)}
    environment.pop("SPICA_PROGRESS", None)
    ends = {signal.SIGTERM: (143, "terminated"), signal.SIGINT: (130, "interrupted")}
    code, word = ends[number]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        assert process.stderr is not None
        assert "compiling" in process.stderr.readline()
        time.sleep(0.5)  # a compiler runs
        process.send_signal(number)
        rest = process.stderr.read()
    assert process.returncode == code
    assert rest.splitlines()[-1] == f"spica: {word}"
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith("building-")]
    assert not list(tmp_path.glob("program-*"))
    assert not processes_of(str(tmp_path))


def test_no_tool_starts_once_tools_are_stopped(monkeypatch):
    monkeypatch.setattr(tools, "_STOPPED", threading.Event())
    assert tools.run_tool((sys.executable, "-c", "print(5)")).stdout == "5\n"
    child = subprocess.Popen((sys.executable, "-c", SLEEPER), stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    below = int(child.stdout.readline())
    assert {child.pid, below} <= set(tools.descendants(os.getpid()))
    monkeypatch.setattr(tools, "descendants", lambda _: [child.pid, below])
    tools.stop_tools()
    assert child.wait() == -signal.SIGKILL
    assert not child.stdout.read()  # the process below has ended, too
    child.stdout.close()
    with pytest.raises(tools.ToolsStoppedError, match="this process ends"):
        tools.run_tool((sys.executable, "-c", "print(5)"))


#: A process with another one below, which writes its number.
SLEEPER = """
import subprocess, sys
command = (sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(99)")
subprocess.run(command)
"""
