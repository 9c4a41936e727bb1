"""Tests of import directions between top-level packages, and of distributed files."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "hw": set(),
    "kernels": {"hw"},
    "sim": {"hw", "kernels"},
    "synth": {"hw"},
    "cli": {"hw", "kernels", "sim", "synth"},
}
SOURCES = sorted(path for room in MAY_IMPORT for path in (ROOT / room).rglob("*.py"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def rooms_imported(path):
    """Yield the package of every import in `path` that leaves its own package."""
    depth = len(path.relative_to(ROOT).parts)  # `level` that reaches the root package
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            if node.module:
                yield node.module.partition(".")[0]
            else:
                yield from (alias.name for alias in node.names)


def absolute_imports(path):
    """Yield the first part of every absolute import in `path`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    room = path.relative_to(ROOT).parts[0]
    assert set(rooms_imported(path)) <= MAY_IMPORT[room]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rooms_import_each_other_relatively(path):
    """A package imported by its bare name would hold every class a second time."""
    assert not {"spica", *MAY_IMPORT} & set(absolute_imports(path))


def test_every_package_is_distributed():
    found = {
        ".".join(("spica", *path.parent.relative_to(ROOT).parts))
        for path in SOURCES
        if path.name == "__init__.py"
    }
    assert found == set(SETTINGS["packages"])


def test_every_folder_with_code_is_a_package():
    folders = {path.parent for path in SOURCES}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_every_data_file_is_distributed(room):
    patterns = SETTINGS["package-data"][f"spica.{room}"]
    packaged = {path for pattern in patterns for path in (ROOT / room).glob(pattern)}
    for package, patterns in SETTINGS["package-data"].items():
        folder = ROOT.joinpath(*package.split(".")[1:])
        packaged |= {path for pattern in patterns for path in folder.glob(pattern)}
    data = {
        path
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert data - packaged == set()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_every_room_is_typed(room):
    assert (ROOT / room / "py.typed").exists()
