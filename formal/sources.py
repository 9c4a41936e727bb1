"""Sources of all packages, and copies of them."""

import shutil
from functools import cache
from pathlib import Path

__all__ = ["ROOMS", "ROOT", "copy_sources", "sources"]

ROOT = Path(__file__).parents[1]
#: Packages at the root, one for each room.
ROOMS = ("base", "hw", "kernels", "sim", "synth", "explore", "api", "cli")


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


def copy_sources(target: Path) -> None:
    """Copy the package ``spica`` below `target`."""
    package = target / "spica"
    for room in ROOMS:
        shutil.copytree(ROOT / room, package / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "__init__.py", package)
