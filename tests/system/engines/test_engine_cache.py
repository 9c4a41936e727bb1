"""Tests of the build cache: one build for two processes, no partial builds, compiler versions."""

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from spica.hw.base.build_cache import cache_directory, cached, digest
from spica.hw.base.errors import UserError
from spica.kernels import compile as compiling
from spica.kernels.compile import zig_environment
from spica.sim.engine import compiler


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


def test_a_failed_build_leaves_nothing():
    def fail(directory):
        (directory / "half").write_text("")
        raise UserError("no")

    with pytest.raises(UserError, match="no"):
        cached("thing", "key", fail)
    assert [path.suffix for path in cache_directory().iterdir()] == [".lock"]


def test_a_killed_build_is_built_again():
    program = """
        import os, signal
        from spica.hw.base.build_cache import cached
        def build(directory):
            (directory / "it").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
        cached("thing", "key", build)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert run.returncode < 0
    built = cached("thing", "key", lambda directory: (directory / "it").write_text("whole"))
    assert (built / "it").read_text() == "whole"


def test_two_processes_build_once(tmp_path):
    program = f"""
        import time
        from spica.hw.base.build_cache import cached
        def build(directory):
            with open({str(tmp_path / "log")!r}, "a") as log:
                log.write("built\\n")
            time.sleep(0.5)
            (directory / "it").write_text("whole")
        print((cached("thing", "key", build) / "it").read_text())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [run.communicate()[0] for run in runs] == ["whole\n", "whole\n"]
    assert (tmp_path / "log").read_text() == "built\n"


def test_unwritable_cache_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"the cache .*file cannot be written: "):
        cached("thing", "key", lambda directory: None)


def test_keys_tell_where_parts_end():
    assert digest(["ab", "c"]) != digest(["a", "bc"])


def test_missing_compiler_is_one_sentence(monkeypatch):
    monkeypatch.setenv("SPICA_CXX", "/no/such/compiler -x")
    with pytest.raises(UserError, match=r"SPICA_CXX must be a C.. compiler that runs, not '/no/s"):
        compiler.find_compiler()
    monkeypatch.delenv("SPICA_CXX")
    monkeypatch.setattr(compiler, "candidates", list)
    with pytest.raises(UserError, match=r"no C.. compiler found: pip install ziglang, or"):
        compiler.find_compiler()


def test_compiler_errors_are_one_sentence(tmp_path):
    source = tmp_path / "wrong.cpp"
    source.write_text("int x = ;")
    with pytest.raises(UserError, match=r"wrong.cpp failed: .*error: expected"):
        compiler.compile_all(compiler.find_compiler(), [(source, tmp_path / "x.o", [])])


def test_each_installation_of_zig_has_a_cache(monkeypatch):
    name = "ZIG_GLOBAL_CACHE_DIR"
    monkeypatch.delenv(name, raising=False)
    mine = zig_environment()[name]
    assert Path(mine).parent == cache_directory()
    program = f"import os, sys; sys.exit('error: ' + os.environ[{name!r}])"
    with pytest.raises(UserError, match=f"it failed: error: {mine}"):
        compiler.run([sys.executable, "-c", program], "it")
    other = SimpleNamespace(origin="/other/ziglang/__init__.py")
    for owner, function, value in (
        (importlib.util, "find_spec", lambda _: other),
        (compiling, "compiler_version", lambda: "0.0.0"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, function, value)
            assert zig_environment()[name] != mine
    monkeypatch.setenv(name, "/chosen")
    assert zig_environment()[name] == "/chosen"
