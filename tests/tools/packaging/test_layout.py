"""Tests of import directions between top-level packages, and of distributed files."""

import ast
import tomllib
from pathlib import Path

import pytest

from support.root_modules import root_module

ROOT = Path(__file__).parents[3]
ROOMS = root_module("formal.sources").ROOMS
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def absolute_imports(path):
    """Yield the first part of every absolute import in `path`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rooms_import_each_other_relatively(path):
    """A package imported by its bare name would hold every class a second time."""
    assert not {"spica", *ROOMS} & set(absolute_imports(path))


def test_every_package_is_distributed():
    found = {
        ".".join(("spica", *path.parent.relative_to(ROOT).parts))
        for path in SOURCES
        if path.name == "__init__.py"
    }
    assert found | {"spica"} == set(SETTINGS["packages"])


def test_every_folder_with_code_is_a_package():
    folders = {path.parent for path in SOURCES}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


@pytest.mark.parametrize("room", ROOMS)
def test_every_data_file_is_distributed(room):
    packaged = set()
    for package, patterns in SETTINGS["package-data"].items():
        folder = ROOT.joinpath(*package.split(".")[1:])
        packaged |= {path for pattern in patterns for path in folder.glob(pattern)}
    data = {
        path
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert data - packaged == set()


def test_the_package_is_typed():
    assert (ROOT / "py.typed").exists()
    assert SETTINGS["package-data"]["spica"] == ["py.typed"]


@pytest.mark.parametrize("mirror", ["tests/hw", "sim/golden"])
def test_mirrors_have_the_folders_of_hw(mirror):
    folders = {
        path.relative_to(ROOT / mirror)
        for path in (ROOT / mirror).rglob("*")
        if path.is_dir() and path.name != "__pycache__"
    }
    assert {str(folder) for folder in folders if not (ROOT / "hw" / folder).is_dir()} == set()
