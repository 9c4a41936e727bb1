"""Tests of the progress display: lines, bars, delay, suppression."""

import io
from types import SimpleNamespace

import pytest

import spica
from spica.api import machine as api_machine
from spica.api import progress
from spica.api.progress import ProgressDisplay, duration


class Clock:
    """Replaces the time of the display."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


class Timers:
    """Replaces the timers of the display; `expire` lets those that are not cancelled expire."""

    def __init__(self):
        self.waiting = []

    def __call__(self, delay, function, arguments):
        timer = SimpleNamespace(start=lambda: None, delay=delay)
        timer.cancel = lambda: self.waiting.remove((timer, function, arguments))
        self.waiting.append((timer, function, arguments))
        return timer

    def expire(self):
        for _, function, arguments in self.waiting:
            function(*arguments)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.delenv("SPICA_PROGRESS", raising=False)
    return clock


@pytest.fixture
def timers(monkeypatch):
    timers = Timers()
    monkeypatch.setattr(progress.threading, "Timer", timers)
    return timers


#: Times with the arguments of the step that is shown then, and the lines of all.
STEPS = {
    "expected and elapsed time": (
        [
            (0.0, "verilating", 0, 1, 24.2),
            (30.0, "compiling the model", 0, 4),
            (30.0, "compiling the model", 4, 4),
            (30.5, "linking the model", 0, 1, 0.5),
        ],
        [
            "verilating ... (24 s expected)",
            "verilating: 30 s",
            "compiling the model ...",
            "linking the model ... (0.5 s expected)",
        ],
    ),
    "parts of a long step at intervals": (
        [(now, "sweep", done, 12) for done, now in enumerate((0.0, 29.0, 31.0, 60.0, 61.0))],
        ["sweep ...", "sweep: 2 of 12, 31 s", "sweep: 4 of 12, 1 min 1 s", "sweep: 1 min 1 s"],
    ),
    "equal steps apart": (
        [
            (0.0, "compiling the model", 0, 1, 9.0),
            (9.0, "compiling the model", 1, 1),
            (9.0, "compiling the model", 0, 1, 3.0),
        ],
        [
            "compiling the model ... (9.0 s expected)",
            "compiling the model: 9.0 s",
            "compiling the model ... (3.0 s expected)",
        ],
    ),
    "a run ends the step of a build": (
        [(0.0, "linking the model", 0, 1), (2.0, "running gemm", 0, 0)],
        ["linking the model ...", "linking the model: 2.0 s"],
    ),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("is_silent", [False, True])
def test_lines_of_steps(clock, capsys, monkeypatch, name, is_silent):
    if is_silent:
        monkeypatch.setenv("SPICA_PROGRESS", "0")
    steps, lines = STEPS[name]
    with ProgressDisplay(runs=False) as display:
        for now, *step in steps:
            clock.now = now
            display(*step)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ([] if is_silent else lines)


def test_a_step_appears_after_the_delay(clock, timers, capsys):
    with ProgressDisplay(delay=1) as display:
        display("generating Verilog", 0, 1)
        clock.now = 0.9
        display("verilating", 0, 1, 5.0)
        assert capsys.readouterr().err == ""
        assert [timer.delay for timer, *_ in timers.waiting] == [1]
        timers.expire()
        assert capsys.readouterr().err == "verilating ... (5.0 s expected)\n"
        clock.now = 5.9
    assert capsys.readouterr().err == "verilating: 5.0 s\n"


def test_a_timer_that_expires_late_shows_nothing(clock, timers, capsys):
    with ProgressDisplay(delay=1) as display:
        display("generating Verilog", 0, 1)
        late = list(timers.waiting)
        clock.now = 0.9
        display("verilating", 0, 1)
        timers.waiting = late
        timers.expire()
        timers.waiting = [*late, *timers.waiting]
        display.timer = None
    assert capsys.readouterr().err == ""


def test_runs_are_shown_on_request(clock, capsys):
    for runs in (False, True):
        with ProgressDisplay(runs=runs) as display:
            display("running gemm", 0, 0)
    assert capsys.readouterr().err == "running gemm ...\n"


def test_a_terminal_gets_a_bar_with_elapsed_and_expected_time(clock, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with ProgressDisplay() as display:
        display("verilating", 0, 1, 24.2)
        clock.now = 12.0
        display.bar.refresh()
        (column,) = [column for column in display.bar.columns if type(column) is progress.StepBar]
        share = column.render(display.bar.tasks[0])
        assert share.completed / share.total == pytest.approx(12 / 24.2)
        clock.now = 99.0
        late = column.render(display.bar.tasks[0])
        assert late.completed / late.total == progress.ALMOST
    assert "verilating" in stream.getvalue()
    assert "12 s of about 24 s" in stream.getvalue()
    assert "\n" not in stream.getvalue().rpartition("\x1b[2K")[2]


def test_jupyter_gets_a_bar_if_it_has_widgets(monkeypatch):
    jupyter = SimpleNamespace(is_jupyter=True, is_terminal=False)
    for widgets in (None, object()):
        monkeypatch.setattr(progress.importlib.util, "find_spec", lambda _, spec=widgets: spec)
        assert progress.shows_bars(jupyter) == (widgets is not None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (10, "10 s"), (59.4, "59 s"), (65, "1 min 5 s")],
)
def test_durations_have_units(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("chosen", "shown"), [(True, "verilating ...\n"), (False, ""), ("callback", "")]
)
def test_a_machine_shows_its_build(clock, capsys, monkeypatch, chosen, shown):
    steps = []

    def run(workload, name, config, options, *, console, progress, results):
        if progress is not None:
            progress("verilating", 0, 1)
            progress("running", 0, 0)
        return {
            **{"cycles": 1, "counters": None, "mac_utilization": None},
            "check": {"verdict": "pass"},
        }

    monkeypatch.setattr("spica.sim.run.request.run.run_workload", run)
    monkeypatch.setattr(api_machine, "DELAY", 0)
    option = (lambda *step: steps.append(step)) if chosen == "callback" else chosen
    machine = spica.Machine("tiny", progress=option)
    machine.run("vecadd", n=8)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == shown
    assert steps == ([("verilating", 0, 1), ("running", 0, 0)] if chosen == "callback" else [])
