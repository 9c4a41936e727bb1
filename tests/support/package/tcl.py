"""Tcl interpreter with stubs of the commands of tools that are not installed."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Tcl"]


class Tcl:
    """An interpreter of Tcl that records the calls of its stubs.

    Attributes
    ----------
    calls : list of tuple of str
        Every call of a stub: its name and arguments.

    """

    def __init__(self):
        try:
            import tkinter
        except ImportError:
            pytest.skip("missing: tkinter (apt-get install python3-tk)")
        self.interpreter: Any = tkinter.Tcl()
        self.calls: list[tuple[str, ...]] = []
        self.errors: list[Exception] = []

    def stub(self, name: str, function: Callable[..., Any] = lambda *_: "") -> None:
        """Define a command: its result is that of a function, whose exceptions `source` raises."""

        def called(*arguments: str) -> Any:
            self.calls.append((name, *arguments))
            try:
                return function(*arguments)
            except Exception as error:  # Tcl would lose it
                self.errors.append(error)
                return ""

        self.interpreter.createcommand(name, called)

    def keep_only(self, names: Collection[str]) -> None:
        """Remove all commands but some."""
        for name in self.words(self.interpreter.eval("info commands")):
            if name not in names and name not in ("rename", "source"):
                self.interpreter.eval(f"rename {{{name}}} {{}}")

    def set(self, name: str, value: str) -> None:
        """Set a global variable, or an element of an array."""
        self.interpreter.setvar(name, value)

    def words(self, text: str) -> list[str]:
        """Return the elements of a list."""
        return list(self.interpreter.splitlist(text))

    def source(self, path: Path) -> None:
        """Evaluate a file; raise the first exception of a stub, or the error in Tcl."""
        try:
            self.interpreter.eval(f"source {{{path}}}")
        finally:
            if self.errors:
                raise self.errors[0]

    def called(self, name: str) -> list[tuple[str, ...]]:
        """Return the arguments of every call of a stub, in order."""
        return [call[1:] for call in self.calls if call[0] == name]
