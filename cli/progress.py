"""Progress on standard error: a bar on a terminal, otherwise one line per stage."""

from collections.abc import Callable

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .options import standard_error

__all__ = ["ProgressDisplay", "counting_blocks"]


class ProgressDisplay:
    """Progress display: a callable that takes a stage, the steps done and all steps.

    It is a context manager. At its end bars disappear and lines stay.
    """

    def __init__(self):
        console = standard_error()
        self.terminal = console.is_terminal
        self.sentence = ""
        self.task = None
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not self.terminal,
        )

    def __call__(self, sentence: str, done: int, total: int):
        if not self.terminal:
            if sentence != self.sentence:
                self.progress.console.print(f"{sentence} ...")
            self.sentence = sentence
            return
        if sentence != self.sentence or self.task is None:
            if self.task is not None:
                self.progress.remove_task(self.task)
            self.task = self.progress.add_task(sentence, total=None)
            self.sentence = sentence
        self.progress.update(self.task, completed=done, total=total or None)

    def __enter__(self) -> "ProgressDisplay":
        self.progress.start()
        return self

    def __exit__(self, *_):
        self.progress.stop()


def counting_blocks(
    tell: Callable[[str, int, int], object], name: str
) -> Callable[[str, int], None]:
    """Report elaboration, and return a callback that counts the blocks synthesised."""
    done = 0
    tell(f"elaborating {name}", 0, 0)

    def advance(_: str, blocks: int):
        nonlocal done
        done += 1
        tell(f"synthesising {name}", done, blocks)

    return advance
