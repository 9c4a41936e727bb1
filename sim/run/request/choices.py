"""Choices of a user: one of known names, or a number with a least value."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from ....base.errors import UserError

__all__ = ["UnknownNameError", "choose", "flag_of", "given", "require_at_least"]

#: Options with a name of their own on the command line.
SHORT = {"m": "-m", "n": "-n", "k": "-k", "includes": "-I", "defines": "-D"}


class UnknownNameError(UserError):
    """A name that is none of the known ones; the message suggests one.

    Parameters
    ----------
    kind : str
        Kind of name: an option as on the command line, or a word.
    name : str
        The unknown name.
    known : list of str
        Known names.

    """

    def __init__(self, kind: str, name: str, known: list[str]):
        close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
        hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")
        self.kind, self.name, self.known = kind, name, known


def choose(kind: str, name: Any, known: Iterable[str]) -> str:
    """Return `name` if it is `known`; otherwise raise `UnknownNameError`, which suggests one."""
    names = list(known)
    if name not in names:
        raise UnknownNameError(kind, str(name), names)
    return name


def require_at_least(least: int, options: Mapping[str, int | None]):
    """Raise if a given option is below `least`."""
    for option, value in options.items():
        if value is not None and value < least:
            raise UserError(f"{option} must be at least {least}, not {value}")


def flag_of(name: str) -> str:
    """Return an option as it is written on the command line."""
    return SHORT.get(name) or f"--{name.replace('_', '-')}"


def given(**options: Any) -> dict[str, Any]:
    """Return the options that are given."""
    return {name: value for name, value in options.items() if value is not None}
