"""Sources of packages: the files that a module can reach by its imports."""

import functools
import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...base.build_cache import digest

__all__ = ["SourceTree", "generator_sources", "is_source_loaded"]

STARTED = time.time()

#: An import statement that begins a line, also inside a function: dots, module and names.
FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)", re.M)
IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n]*)", re.M)
COMMENT = re.compile(r"#[^\n]*")


class SourceTree:
    """Sources of packages, read once.

    A parser of Python would take longer than an emission from a warm cache, so imports are found
    by their text. A line of a docstring with the form of an import may add a file, never hide one.

    Parameters
    ----------
    folders : mapping of str to Path
        Folder of each package by its full name.

    """

    def __init__(self, folders: Mapping[str, Path]):
        self.texts: dict[str, str] = {}
        self.packages: set[str] = set()
        self.newest = 0.0
        files = [(name, path) for name in folders for path in folders[name].rglob("*.py")]
        for package, path in files:
            parts = [package, *path.relative_to(folders[package]).with_suffix("").parts]
            if parts[-1] == "__init__":
                parts.pop()
                self.packages.add(".".join(parts))
            self.texts[".".join(parts)] = path.read_text()
            self.newest = max(self.newest, path.stat().st_mtime)
        self.hashes = {
            name: hashlib.sha256(f"{name}\n{text}".encode()).hexdigest()
            for name, text in self.texts.items()
        }
        self.reached: dict[frozenset[str], str] = {}

    @functools.cache  # noqa: B019  # trees live as long as the process
    def imports(self, name: str) -> frozenset[str]:
        """Return the modules of the packages that a module imports, and the packages around it."""
        text = COMMENT.sub("", self.texts[name])
        modules = {name}
        for dots, module, names in FROM.findall(text):
            base = module
            if dots:
                # A package is its own first level.
                drop = len(dots) - (name in self.packages)
                around = name.split(".")[: len(name.split(".")) - drop]
                base = ".".join([*around, *filter(None, [module])])
            imported = re.findall(r"\w+", names)
            modules |= {base, *(f"{base}.{item}" for item in imported)}
        for names in IMPORT.findall(text):
            modules |= set(re.findall(r"[\w.]+", names))
        levels = {module[:end] for module in modules for end in cuts(module)}
        return frozenset(levels & self.texts.keys()) - {name}

    def reach(self, names: Iterable[str]) -> frozenset[str]:
        """Return `names` and all modules that they import, directly or indirectly."""
        reached: set[str] = set()
        waiting = [name for name in names if name in self.texts]
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += self.imports(name)
        return frozenset(reached)

    def digest(self, names: Iterable[str]) -> str:
        """Return a hash of the names and texts of all modules that `names` reach."""
        roots = frozenset(names)
        if roots not in self.reached:
            self.reached[roots] = digest(self.hashes[name] for name in sorted(self.reach(roots)))
        return self.reached[roots]


def cuts(name: str) -> list[int]:
    """Return the lengths of a dotted name and of all packages around it."""
    return [*(match.start() for match in re.finditer(r"\.", name)), len(name)]


@functools.cache
def generator_sources() -> SourceTree:
    """Return the sources of all hardware, and of what every room imports."""
    root, folder = __name__.rsplit(".", 3)[0], Path(__file__).parents[2]
    return SourceTree({f"{root}.{room}": folder / room for room in ("base", "hw")})


def is_source_loaded() -> bool:
    """Return whether the sources are those that this process has loaded, not edited meanwhile."""
    return generator_sources().newest < STARTED
