"""Makes a program that shows something as short as it can be."""

from collections.abc import Callable
from dataclasses import replace

from .placed import PlacedProgram

__all__ = ["reduce_program"]


def reduce_program(program: PlacedProgram, shows: Callable[[PlacedProgram], bool]) -> PlacedProgram:
    """Leave out lines, many at first and then one by one, as long as the program `shows` it.

    What cannot be assembled without a line keeps it. `shows` has to reject programs that go wrong
    in another way, such as those that never end.
    """
    lines = program.text.splitlines()
    count = max(1, len(lines) // 2)
    while True:
        start, shorter = 0, False
        while start < len(lines):
            fewer = lines[:start] + lines[start + count :]
            if is_shown(replace(program, text="\n".join(fewer)), shows):
                lines, shorter = fewer, True
            else:
                start += count
        if count == 1 and not shorter:
            return replace(program, text="\n".join(lines))
        count = max(1, count // 2)


def is_shown(program: PlacedProgram, shows: Callable[[PlacedProgram], bool]) -> bool:
    """Return whether a program can be assembled and shows it."""
    try:
        assert program.program
    except (ValueError, AssertionError):
        return False
    return shows(program)
