"""Source lines of registers, as comments behind their declarations."""

import sysconfig
from pathlib import Path
from typing import Any

from .layout import WIDTH

__all__ = ["declared", "source_line"]

#: Folder of the package, from which the paths of its files are given.
PACKAGE = Path(__file__).parents[4]
LIBRARIES = "/site-packages/"
STANDARD_LIBRARY = Path(sysconfig.get_paths()["stdlib"])


def source_line(cell: Any) -> str:
    """Return file and line of the signal that a cell is made of, for example ``hw/a.py:12``.

    Files of this package are given from its folder, those of other packages from the folder of all,
    further ones by name. The result is empty for a signal that the standard library's context
    managers create, such as the state of a state machine.
    """
    file, line = cell.src_loc
    path = Path(file)
    if path.is_relative_to(PACKAGE):
        path = path.relative_to(PACKAGE)
    if LIBRARIES in (text := f"/{path}"):
        return f"{text.rpartition(LIBRARIES)[2]}:{line}"
    if path.is_relative_to(STANDARD_LIBRARY):
        return ""
    return f"{path.name if path.is_absolute() else path.as_posix()}:{line}"


def declared(line: str, source: str | None) -> str:
    """Return the line of a declaration with its source behind it, or before it if that is long."""
    if not source:
        return line
    text = f"{line} // {source}"
    return text if len(text) <= WIDTH else f"  // {source}\n{line}"
