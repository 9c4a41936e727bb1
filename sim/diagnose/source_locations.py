"""Source locations of instructions, with the text of their lines."""

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ...kernels.compile import RUNTIME_DIRECTORY
from ...kernels.inlining import CallChains
from ...kernels.program import Program, SourceLine

__all__ = ["Locator"]

#: Header that is generated for each machine, in the build cache.
GENERATED_HEADER = "spica.h"


@cache
def source_lines(path: str) -> tuple[str, ...]:
    """Return the lines of a file; no lines if it cannot be read."""
    try:
        return tuple(Path(path).read_text(errors="replace").splitlines())
    except OSError:
        return ()


def is_own(path: str) -> bool:
    """Return whether a file is the user's, not part of the runtime."""
    if Path(path).name == GENERATED_HEADER:
        return False
    return not Path(path).resolve().is_relative_to(RUNTIME_DIRECTORY.resolve())


def shown_path(path: str) -> str:
    """Return a path relative to the current directory; only the file name if it is outside."""
    relative = os.path.relpath(path)
    return Path(path).name if relative.startswith("..") else relative


class Locator:
    """Finder of the source locations of instructions.

    An instruction of an inlined library function is located at the user's call.

    Parameters
    ----------
    program : Program

    """

    def __init__(self, program: Program):
        self.program = program
        self.chains = CallChains(program)
        self.chain_of: dict[int, list[SourceLine]] = {}

    def chain(self, pc: int) -> list[SourceLine]:
        """Return an instruction's source lines in the user's files: innermost first, then calls."""
        if pc not in self.chain_of:
            places = () if pc in self.program.runtime else self.chains.at(pc)
            self.chain_of[pc] = [place for place in places if is_own(place.file)]
        return self.chain_of[pc]

    def own(self, pc: int) -> SourceLine | None:
        """Return an instruction's innermost source line in the user's files, or None."""
        return next(iter(self.chain(pc)), None)

    def at(self, pc: int) -> dict[str, Any] | None:
        """Return file, line, function, line text and inlined calls of an instruction."""
        place = self.own(pc) or self.program.line_of(pc)
        if place is None:
            function = self.program.function_of(pc)
            known = {"file": None, "line": None, "function": function, "text": None, "calls": []}
            return known if function else None
        lines = source_lines(place.file)
        return {
            "file": shown_path(place.file),
            "line": place.line,
            "function": place.function,
            "text": lines[place.line - 1] if 0 < place.line <= len(lines) else None,
            "calls": [str(call) for call in self.chain(pc)[1:]],
        }

    def latest(self, pcs: Sequence[int]) -> dict[str, Any] | None:
        """Return the location of the last instruction in the user's files, else of the last one."""
        own = [pc for pc in pcs if self.own(pc) is not None] or pcs
        return self.at(own[-1]) if own else None

    def lines(self, pcs: Iterable[int]) -> list[dict[str, Any]]:
        """Return the source lines of instructions by file and function, the user's files first."""
        spans: dict[tuple[bool, str, str], dict[int, str | None]] = {}
        for pc in sorted(set(pcs)):
            place = self.at(pc)
            if place is not None and place["line"]:
                key = (self.own(pc) is None, place["file"], place["function"] or "")
                spans.setdefault(key, {})[place["line"]] = place["text"]
        return [
            {
                "own": not foreign,
                "file": file,
                "function": function,
                "texts": dict(sorted(texts.items())),
            }
            for (foreign, file, function), texts in sorted(spans.items())
        ]
