"""Reduction of a failing program to a minimal one."""

from collections.abc import Callable
from dataclasses import replace

from support.programs.placed_program import PlacedProgram

__all__ = ["reduce_program"]


def reduce_program(program: PlacedProgram, shows: Callable[[PlacedProgram], bool]) -> PlacedProgram:
    """Remove lines, many at first and then one by one, as long as `shows` accepts the program.

    A line is kept if the program cannot be assembled without it. `shows` must reject programs that
    fail in another way, such as those that never end.
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
    """Return True if a program can be assembled and `shows` accepts it."""
    try:
        assert program.program
    except (ValueError, AssertionError):
        return False
    return shows(program)
