"""Tests of source trees: reached files, also by imports in functions, and their hash."""

import ast
from pathlib import Path

import pytest

from spica import base, hw
from spica.hw.emit import source_tree
from spica.hw.emit.source_tree import SourceTree, generator_sources, is_source_loaded

FILES = {
    "__init__": "",
    "top": '"""Top.\n\nfrom .unused import nothing\n"""\nfrom .part.block import Block\n',
    "part.__init__": "from . import table\n",
    "part.block": "def late():\n    from ..lib import (  # (one)\n        queue,\n        arbiter)",
    "part.table": "import package.lib.memory\n",
    "part.other": "",
    "lib.__init__": "",
    "lib.queue": "import re\n",
    "lib.arbiter": "",
    "lib.memory": "",
    "lib.other": "",
}
REACHED = {
    *("package", "package.top", "package.part", "package.part.block", "package.part.table"),
    *("package.lib", "package.lib.queue", "package.lib.arbiter", "package.lib.memory"),
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "package" / (name.replace(".", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "package"


def test_reached_modules(folder):
    tree = SourceTree({"package": folder})
    assert tree.reach(["package.top"]) == REACHED
    assert tree.reach(["package.lib.other", "elsewhere"]) == {
        *("package", "package.lib", "package.lib.other")
    }


@pytest.mark.parametrize("name", sorted(FILES))
def test_hash_changes_with_every_reached_file_and_no_other(folder, name):
    before = SourceTree({"package": folder}).digest(["package.top"])
    path = folder / (name.replace(".", "/") + ".py")
    path.write_text(path.read_text() + "\nx = 1\n")
    module = ".".join(["package", *name.split(".")]).removesuffix(".__init__")
    after = SourceTree({"package": folder}).digest(["package.top"])
    assert (after != before) == (module in REACHED)


def imports_of(tree: SourceTree, name: str) -> set[str]:
    """Return the imports of a module as Python's parser finds them."""
    names = set()
    package = name if name in tree.packages else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(tree.texts[name])):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            around = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(around if node.level else []), *filter(None, [node.module])])
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return names & tree.texts.keys() - {name}


def test_no_import_of_the_hardware_is_missed():
    tree = generator_sources()
    assert len(tree.texts) > 200
    assert {name.split(".")[1] for name in tree.texts} == {"base", "hw"}
    for name in tree.texts:
        assert imports_of(tree, name) <= tree.imports(name), name


def test_edited_sources_are_not_those_of_the_process(monkeypatch):
    assert is_source_loaded()
    rooms = [Path(room.__path__[0]) for room in (base, hw)]
    newest = max(path.stat().st_mtime for room in rooms for path in room.rglob("*.py"))
    monkeypatch.setattr(source_tree, "STARTED", newest)
    assert not is_source_loaded()
