"""Tests of the build cache: one build for several processes, no partial builds, killed builds."""

import os
import random
import signal
import subprocess
import textwrap
import time

import pytest

from spica.base import file_locks, working_folders
from spica.base.build_cache import cache_directory, cached, digest, scratch_folder
from spica.base.entries_in_use import USE_FILE, last_use
from spica.base.errors import UserError
from support.killed_builds import kill, processes_of, run, start, temporaries

#: Build of a nested entry and files in several steps, each entry of a thousand bytes per file.
BUILDER = """
    import sys, time
    from spica.base.build_cache import cached, scratch_folder
    def inner(directory):
        (directory / "part").write_text("p" * 1000)
    def build(directory):
        print("begun", flush=True)
        part = cached("inner", KEY, inner)
        with scratch_folder() as scratch:
            for number in range(10):
                (scratch / "draft").write_text("s" * 1000)
                (directory / str(number)).write_text((part / "part").read_text())
                time.sleep(PAUSE)
    def tell(*step):
        print(step[0], flush=True)
    built = cached("outer", KEY, build, tell)
    print(sum(path.stat().st_size for path in built.iterdir() if path.name.isdigit()))
"""


def builder(key: str, pause: float = 0) -> str:
    """Return the program of a build."""
    return BUILDER.replace("KEY", repr(key)).replace("PAUSE", repr(pause))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))


def test_directory_can_be_chosen(tmp_path, monkeypatch):
    assert cache_directory() == tmp_path / "cache"
    monkeypatch.delenv("SPICA_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "spica"


def test_a_key_is_built_once():
    builds = []

    def build(directory):
        builds.append(directory)
        (directory / "it").write_text("built")

    first, second = cached("thing", "key", build), cached("thing", "key", build)
    assert first == second
    assert (first / "it").read_text() == "built"
    assert len(builds) == 1
    assert cached("thing", "other", build) != first
    assert temporaries(clean=False) == []


def test_a_failed_build_leaves_nothing():
    def fail(directory):
        (directory / "half").write_text("")
        raise UserError("no")

    with pytest.raises(UserError, match="no"):
        cached("thing", "key", fail)
    assert list(cache_directory().iterdir()) == []


def test_unwritable_cache_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"the cache .*file cannot be written: "):
        cached("thing", "key", lambda directory: None)
    with scratch_folder() as folder:
        assert folder.is_dir() and tmp_path not in folder.parents
    assert not folder.exists()


def test_keys_depend_on_where_parts_end():
    assert digest(["ab", "c"]) != digest(["a", "bc"])


def test_a_use_is_recorded():
    entry = cached("thing", "key", lambda directory: None)
    os.utime(entry / USE_FILE, (1000, 1000))
    assert last_use(entry) == 1000
    began = time.time()
    cached("thing", "key", pytest.fail)
    assert last_use(entry) >= began - 1


def test_an_entry_of_a_cache_that_others_write_is_found():
    entry = cached("thing", "key", lambda directory: None)
    (entry / USE_FILE).unlink()
    (entry / USE_FILE).mkdir()  # opening it for writing fails, also for the superuser
    assert cached("thing", "key", pytest.fail) == entry


def test_scratch_folders_disappear():
    with scratch_folder() as folder:
        (folder / "draft").write_text("")
        assert cache_directory() in folder.parents
        assert len(temporaries()) == 1
    assert temporaries(clean=False) == []


def test_a_build_that_was_faster_without_locks_wins(monkeypatch):
    monkeypatch.setattr(file_locks, "fcntl", None)

    def build(directory):
        other = cache_directory() / "thing-key"
        other.mkdir()
        (other / "it").write_text("first")
        (directory / "it").write_text("second")

    assert (cached("thing", "key", build) / "it").read_text() == "first"


def test_two_processes_build_once(tmp_path):
    program = f"""
        from pathlib import Path
        from spica.base.build_cache import cached
        def build(directory):
            print("begun", flush=True)
            while not Path({str(tmp_path / "go")!r}).exists():
                pass
            (directory / "it").write_text("whole")
        tell = lambda *step: print(step[0], flush=True)
        print((cached("thing", "key", build, tell) / "it").read_text())
    """
    with start(program, stdout=subprocess.PIPE) as first:
        assert first.stdout.readline() == "begun\n"
        with start(program, stdout=subprocess.PIPE) as second:
            waiting = f"waiting for process {first.pid}, which builds thing\n"
            assert second.stdout.readline() == waiting
            (tmp_path / "go").touch()
            assert second.communicate()[0] == "whole\n"
        assert first.communicate()[0] == "whole\n"
    assert temporaries(clean=False) == []


def test_a_process_that_waits_takes_over_if_the_builder_is_killed():
    with start(builder("key", 60), stdout=subprocess.PIPE) as first:
        assert first.stdout.readline() == "begun\n"
        others = [start(builder("key"), stdout=subprocess.PIPE) for _ in range(2)]
        for other in others:
            waiting = other.stdout.readline()
            assert waiting == f"waiting for process {first.pid}, which builds outer\n"
        assert kill(first, group=True)
    said = [other.communicate(timeout=60)[0].splitlines() for other in others]
    assert [lines[-1] for lines in said] == ["10000", "10000"]
    assert sum("begun" in lines for lines in said) == 1
    assert temporaries() == []


@pytest.mark.full
def test_a_build_that_is_killed_at_any_moment_leaves_a_usable_cache():
    rng = random.Random(1)
    begun = 0
    for number in range(8):
        key = f"key{number // 2}"
        with start(builder(key, 0.02), stdout=subprocess.PIPE) as process:
            if process.stdout.readline() == "begun\n":
                begun += 1
                time.sleep(rng.random() * 0.2)
            kill(process, group=bool(number % 2))
        running = cached("other", str(number), lambda directory: None)
        assert running.is_dir()
        assert temporaries() == []
    assert begun >= 4
    for number in range(4):
        assert run(builder(f"key{number}")).splitlines()[-1] == "10000"


def test_temporaries_of_running_processes_stay():
    with start(builder("key", 60), stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "begun\n"
        cached("other", "key", lambda directory: None)
        folders = 0
        while folders < 2:  # the second working folder comes in a moment
            assert process.poll() is None
            remaining = temporaries()
            folders = sum(name.startswith(working_folders.PREFIX) for name in remaining)
        assert folders == 2
        assert "outer-key.lock" in remaining
        assert kill(process, group=True)
    cached("other", "new", lambda directory: None)
    assert temporaries(clean=False) == []


def test_an_empty_folder_without_an_owner_is_removed_and_a_full_one_stays_a_day():
    root = cache_directory()
    for name, age in (("empty", 0), ("full", 0), ("old", 2 * 24 * 3600)):
        folder = root / f"{working_folders.PREFIX}{name}"
        folder.mkdir(parents=True)
        if name != "empty":
            (folder / "draft").write_text("text")
        os.utime(folder, (time.time() - age,) * 2)
    assert temporaries() == [f"{working_folders.PREFIX}full"]


def test_files_of_ended_processes_are_removed():
    root = cache_directory()
    root.mkdir()
    (root / f"{working_folders.PREFIX}1234").touch()
    with working_folders.working_file(root) as path:
        assert temporaries() == [path.name]
    assert temporaries(clean=False) == []


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "lock").write_text("")
    (outside / "outer").write_text("")
    cache_directory().mkdir()
    link = cache_directory() / f"{working_folders.PREFIX}link"
    link.symlink_to(outside)
    with scratch_folder() as folder:
        (folder / "link").symlink_to(outside)
    assert temporaries() == [link.name]
    assert len(list(outside.iterdir())) == 2


def test_an_interrupt_releases_the_lock():
    program = """
        from spica.base.build_cache import cached
        def build(directory):
            raise KeyboardInterrupt
        try:
            cached("thing", "key", build)
        except KeyboardInterrupt:
            print(cached("thing", "key", lambda directory: None).name)
    """
    assert run(textwrap.dedent(program)) == "thing-key\n"


def test_a_removal_that_a_signal_ends_is_repeated(monkeypatch):
    remove, calls = working_folders.remove, []

    def interrupted(path):
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        remove(path)

    monkeypatch.setattr(working_folders, "remove", interrupted)
    with pytest.raises(KeyboardInterrupt), scratch_folder() as folder:
        (folder / "draft").write_text("text")
    assert len(calls) == 2
    assert temporaries(clean=False) == []


#: Process with one of its own that ends while a tool of a background build runs.
ENDS_EARLY = """
    import subprocess, sys, threading
    from spica.base.build_cache import scratch_folder
    from spica.base.tools import run_tool
    from spica.sim.engine.background_build import build_in_background
    sleeper = (sys.executable, "-c", "import time; time.sleep(300)")
    started = threading.Event()
    def build():
        with scratch_folder() as folder:
            (folder / "draft").write_text("text")
            started.set()
            run_tool(sleeper)
    nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    print(subprocess.Popen(sleeper, **nothing).pid)
    build_in_background(build)
    started.wait()
"""


def test_a_background_build_ends_with_its_process_alone():
    own = int(run(ENDS_EARLY))
    left = processes_of(str(cache_directory()))
    os.kill(own, signal.SIGKILL)
    assert [*left] == [own]
    assert temporaries(clean=False) == []
