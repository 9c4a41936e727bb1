"""Tests of the contents of the cache: entries, unknown files, removal of what is not in use."""

import os
import subprocess

import pytest

from spica.base.build_cache import cache_directory, cached, digest
from spica.base.build_step import remember
from spica.base.cache_contents import entries, remove_entry, size_of, unknown_files
from spica.base.entries_in_use import HELD, USE_FILE, use_entry
from spica.base.value_cache import load_value, save_value
from spica.base.working_folders import working_folder
from support.killed_builds import kill, start


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def built(kind, key, size=1000):
    """Return an entry of `size` bytes in a file and a folder."""

    def build(directory):
        (directory / "inner").mkdir()
        (directory / "inner" / "file").write_bytes(bytes(size - 1))
        (directory / "file").write_bytes(b"1")

    return cached(kind, digest([key]), build)


def removed(root):
    """Return the places of all entries that can be removed, removed."""
    with working_folder(root) as trash:
        return {entry.path for entry in entries(root) if remove_entry(root, entry, trash)}


def test_an_absent_cache_has_no_entries(root):
    assert list(entries(root)) == list(unknown_files(root)) == []


def test_entries_have_kind_size_and_last_use(root):
    path = built("model-tiny_matrix", "a", 5000)
    os.utime(path / USE_FILE, (1000, 1000))
    save_value("synth", digest(["b"]), "result")
    remember("verilating", 1, 1.0)
    record = (path / ".contents").stat().st_size
    folder, file = sorted(entries(root), key=lambda entry: entry.used)
    assert (folder.path, folder.kind, folder.size, folder.used) == (
        path,
        "model",
        5000 + record,
        1000,
    )
    assert (file.kind, file.path.suffix) == ("synth", ".gz")
    assert file.size == file.path.stat().st_size
    with working_folder(root):
        assert list(unknown_files(root)) == []


def test_values_record_their_use(root):
    save_value("synth", digest(["b"]), "result")
    (entry,) = entries(root)
    os.utime(entry.path, (1000, 1000))
    assert load_value("synth", digest(["b"])) == "result"
    (entry,) = entries(root)
    assert entry.used > 1000


def test_unknown_files_are_no_entries(root, tmp_path):
    built("model", "a")
    save_value("synth", digest(["b"]), "result")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "outer").write_text("")
    unknown = {root / "notes.txt", root / "folder", root / "synth" / "mine.gz", root / "model"}
    unknown |= {root / f"model-{digest(['link'])}", root / "model-123"}
    (root / "notes.txt").write_text("")
    (root / "synth" / "mine.gz").write_text("")
    for name in ("folder", "model", "model-123"):
        (root / name).mkdir()
        (root / name / "file").touch()
    (root / f"model-{digest(['link'])}").symlink_to(outside)
    assert set(unknown_files(root)) == unknown
    assert len(list(entries(root))) == 2


def test_removed_values_leave_no_unknown_folder(root):
    save_value("blocks", digest(["b"]), "result")
    (entry,) = entries(root)
    assert removed(root) == {entry.path}
    assert list(unknown_files(root)) == []


def test_links_in_entries_are_not_followed(root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "outer").write_bytes(bytes(10_000))

    def build(directory):
        (directory / "link").symlink_to(outside)
        (directory / "file").symlink_to(outside / "outer")

    cached("model", digest(["a"]), build)
    (entry,) = entries(root)
    assert entry.size < 1000
    release()
    assert removed(root) == {entry.path}
    assert (outside / "outer").stat().st_size == 10_000


def release():
    """Use as many other entries as a process keeps locked."""
    root = cache_directory()
    for number in range(HELD):
        (root / f"other-{number}").mkdir()
        assert use_entry(root / f"other-{number}")


def test_an_entry_in_use_stays(root):
    path = built("model", "a")
    assert removed(root) == set()
    assert (path / "file").read_bytes() == b"1"
    release()
    assert removed(root) == {path}
    assert not path.exists()
    assert built("model", "a") == path and path.is_dir()


def test_an_entry_that_another_process_uses_stays(root):
    program = f"""
        from spica.base.build_cache import cached
        cached("model", {digest(["a"])!r}, lambda directory: None)
        print("used", flush=True)
        input()
    """
    with start(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "used\n"
        assert removed(root) == set()
        assert kill(process, group=True)
    assert len(removed(root)) == 1


def test_an_entry_that_disappears_counts_as_removed(root):
    path = built("model", "a")
    (entry,) = entries(root)
    release()
    assert removed(root) == {path}
    with working_folder(root) as trash:
        assert remove_entry(root, entry, trash)
    assert not list(root.glob("*.lock"))


def test_size_of_a_folder_while_files_vanish(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    (tmp_path / "outer").write_bytes(b"12345")
    (tmp_path / "inner" / "outer").write_bytes(b"123")
    (tmp_path / "inner" / "link").symlink_to(tmp_path / "outer")
    own = (tmp_path / "inner" / "link").lstat().st_size
    assert size_of(tmp_path) == 8 + own
    walk = os.walk

    def removing(folder):
        for parent, folders, names in walk(folder):
            yield parent, folders, [*names, "removed meanwhile"]

    monkeypatch.setattr(os, "walk", removing)
    assert size_of(tmp_path) == 8 + own
    assert size_of(tmp_path / "absent") == 0
