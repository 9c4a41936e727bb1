"""Sources for planted faults: the file that defines a name, and copies of all packages."""

import re
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["ROOMS", "ROOT", "copy_sources", "misfits", "plant", "planted_file"]

ROOT = Path(__file__).parents[1]
#: Packages at the root, one for each room.
ROOMS = ("hw", "kernels", "sim", "synth", "explore", "api", "cli")
#: Definition of a class or function in Python, C or C++, or a label in assembly.
DEFINITION = (
    r"^(?:(?:class|struct|def) {name}\b|{name}:|(?!return|else)[\w:<>&*][\w:<>&*, ]*[ &*]{name}\()"
)


@cache
def sources() -> dict[Path, str]:
    """Return the text of every source, by its path from the root."""
    suffixes = {".py", ".c", ".cpp", ".h", ".hpp", ".S"}
    return {
        path.relative_to(ROOT): path.read_text()
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in suffixes
    }


def planted_file(inside: str, old: str) -> Path:
    """Return the path, from the root, of the source that defines `inside` and contains `old` once.

    Raises
    ------
    ValueError
        If there is no such source, or more than one.

    """
    definition = re.compile(DEFINITION.format(name=re.escape(inside)), re.M)
    found = [
        path for path, text in sources().items() if text.count(old) == 1 and definition.search(text)
    ]
    if len(found) != 1:
        raise ValueError(
            f"the replaced text must occur once in one source that defines {inside}, not in "
            f"{len(found)}: {old!r}"
        )
    return found[0]


def misfits(edits: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return a message for each edit without a planted file.

    An edit is a label for the message, and the arguments of `planted_file`.
    """
    messages = []
    for label, inside, old in edits:
        try:
            planted_file(inside, old)
        except ValueError as error:
            messages.append(f"{label}: {error}")
    return messages


def copy_sources(target: Path) -> None:
    """Copy the package ``spica`` below `target`."""
    package = target / "spica"
    for room in ROOMS:
        shutil.copytree(ROOT / room, package / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "__init__.py", package)


def plant(inside: str, old: str, new: str, target: Path) -> None:
    """Replace `old` by `new` in the copy below `target`, in the source that defines `inside`."""
    path = target / "spica" / planted_file(inside, old)
    path.write_text(path.read_text().replace(old, new))
