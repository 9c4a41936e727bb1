"""Tests of damaged cache entries: each is built again."""

import pytest

from spica.base.build_cache import cached
from spica.base.entry_contents import is_whole, record_contents


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))


def cut(path):
    path.write_bytes(path.read_bytes()[:3])


def emptied(path):
    path.write_bytes(b"")


def changed(path):
    path.write_bytes(b"x" + path.read_bytes()[1:])


def removed(path):
    path.unlink()


@pytest.mark.parametrize("name", ["model.so", "inner/part", ".contents"])
@pytest.mark.parametrize("damage", [cut, emptied, changed, removed])
def test_a_damaged_entry_is_built_again(damage, name, tmp_path):
    builds = []

    def build(directory):
        builds.append(directory)
        (directory / "inner").mkdir()
        (directory / "inner" / "part").write_text("a part")
        (directory / "model.so").write_text("a model")

    entry = cached("model", "0" * 24, build)
    assert cached("model", "0" * 24, build) == entry and len(builds) == 1
    damage(entry / name)
    assert not is_whole(entry)
    assert cached("model", "0" * 24, build) == entry and len(builds) == 2
    assert (entry / "model.so").read_text() == "a model" and is_whole(entry)
    assert cached("model", "0" * 24, build) == entry and len(builds) == 2
    assert not list((tmp_path / "cache").glob("building-*"))


def test_a_file_that_was_added_is_no_damage(tmp_path):
    (tmp_path / "part").write_text("a part")
    record_contents(tmp_path)
    (tmp_path / ".used").touch()
    assert is_whole(tmp_path)
