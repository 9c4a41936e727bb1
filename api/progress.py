"""Progress display on standard error: a bar on terminals and in Jupyter, otherwise lines."""

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.text import Text

from ..base.progress import Progress as Callback

__all__ = ["ProgressDisplay", "duration", "shown_progress", "shows_progress"]

#: Least duration (seconds) of a step whose end gets a line.
WORTH_A_LINE = 1.0
#: Least duration (seconds) between lines about the parts of a step.
BETWEEN_LINES = 30.0
#: Largest share of a bar that expected time alone fills.
ALMOST = 0.97


def shows_progress() -> bool:
    """Return whether progress is shown: not if ``$SPICA_PROGRESS`` is 0."""
    return os.environ.get("SPICA_PROGRESS") != "0"


@contextmanager
def shown_progress(progress: bool | Callback | None, **options: Any) -> Iterator[Callback | None]:
    """Provide the callback of a call: a display with `options` if `progress` is True.

    `progress` itself is the callback unless it is a bool.
    """
    if progress is True:
        with ProgressDisplay(**options) as display:
            yield display
    else:
        yield progress or None


def duration(seconds: float) -> str:
    """Return a duration in words, for example ``1 min 5 s``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class ProgressDisplay:
    """Display of steps: a progress callback and context manager.

    Each step shows its elapsed and expected time. At the end bars disappear and lines stay.

    Parameters
    ----------
    delay : float
        Seconds until a step appears; shorter steps do not.
    runs : bool
        Whether to show steps of unknown length, such as runs, or builds only.

    """

    def __init__(self, *, delay: float = 0, runs: bool = True):
        self.delay, self.runs = delay, runs
        self.console = Console(stderr=True, highlight=False)
        self.has_bar = shows_bars(self.console)
        self.shown = shows_progress()
        self.is_held = False
        self.bar: Progress | None = None
        self.description = ""
        self.expected: float | None = None
        self.began, self.done, self.total = 0.0, 0, 0
        self.printed = 0.0
        self.timer: threading.Timer | None = None
        self.lock = threading.RLock()

    def __call__(
        self, description: str, done: int, total: int, expected: float | None = None, /
    ) -> None:
        if not self.shown or self.is_held:
            return
        with self.lock:
            if total == 0 and not self.runs:
                self.end_step()
                return
            if description != self.description or (done == 0 and expected is not None):
                self.end_step()
                self.description, self.expected = description, expected
                self.began, self.done, self.total = time.monotonic(), done, total
                self.printed = self.began
                self.appear_later()
            self.done, self.total = done, total
            if self.bar is not None:
                (task,) = self.bar.task_ids
                self.bar.update(task, completed=done, total=total or None)
                if expected is not None:
                    self.bar.update(task, expected=expected)
            elif not self.has_bar and total > 1 and done > 0:
                self.print_parts()

    def print_parts(self) -> None:
        """Print a line about the finished parts of a long step, unless one was just printed."""
        now = time.monotonic()
        if now - self.printed >= BETWEEN_LINES:
            self.printed = now
            elapsed = duration(now - self.began)
            print_line(f"{self.description}: {self.done} of {self.total}, {elapsed}")

    def appear_later(self) -> None:
        """Show the step after the delay."""
        if not self.delay:
            self.appear()
            return
        self.timer = threading.Timer(self.delay, self.appear_if_current, (self.began,))
        self.timer.daemon = True
        self.timer.start()

    def appear_if_current(self, began: float) -> None:
        """Show the step that began at this time unless it is over."""
        with self.lock:
            if self.description and self.began == began:
                self.appear()

    def appear(self) -> None:
        """Show the step: a bar, or a line."""
        if not self.has_bar:
            expected = f" ({duration(self.expected)} expected)" if self.expected else ""
            print_line(f"{self.description} ...{expected}")
            return
        self.bar = Progress(
            TextColumn("{task.description}"),
            StepBar(),
            MofNCompleteColumn(),
            StepTime(),
            console=self.console,
            transient=True,
        )
        self.bar.add_task(
            self.description,
            total=self.total or None,
            completed=self.done,
            began=self.began,
            expected=self.expected,
        )
        self.bar.start()

    def end_step(self) -> None:
        """Remove the bar of the step, or end it with a line if it took long and has parts."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
        elif self.description and self.total and not self.has_bar:
            elapsed = time.monotonic() - self.began
            if elapsed >= max(self.delay, WORTH_A_LINE):
                print_line(f"{self.description}: {duration(elapsed)}")
        self.description = ""

    def stop(self, *, is_held: bool = False) -> None:
        """End the current step: the terminal is free for other output, while held for all of it."""
        with self.lock:
            self.end_step()
            self.is_held = is_held

    def __enter__(self) -> "ProgressDisplay":
        return self

    def __exit__(self, *_):
        self.stop()


def print_line(text: str) -> None:
    """Print a line on standard error, also in Jupyter."""
    print(text, file=sys.stderr, flush=True)


def shows_bars(console: Console) -> bool:
    """Return whether a console can redraw a bar: a terminal, or Jupyter with its widgets."""
    if console.is_jupyter:
        return importlib.util.find_spec("ipywidgets") is not None
    return console.is_terminal


class StepBar(BarColumn):
    """Bar of a step: the share of its parts, or of its expected time if it has one part."""

    def render(self, task: Task) -> ProgressBar:
        """Return the bar."""
        expected = task.fields["expected"]
        if not expected or (task.total or 1) > 1:
            return super().render(task)
        share = min((time.monotonic() - task.fields["began"]) / expected, ALMOST)
        return ProgressBar(total=1, completed=share, width=self.bar_width)


class StepTime(ProgressColumn):
    """Elapsed time of a step, and its expected time if known."""

    def render(self, task: Task) -> Text:
        """Return the text."""
        expected = task.fields["expected"]
        end = f" of about {duration(expected)}" if expected else ""
        return Text(f"{duration(time.monotonic() - task.fields['began'])}{end}")
