"""Tests of compilers of models: choice, errors, caches."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from spica.base import compiler, zig
from spica.base.build_cache import cache_directory
from spica.base.compiler import find_compiler
from spica.base.errors import UserError
from spica.base.zig import zig_environment
from spica.hw.emit.emitter import emit
from spica.hw.machine.machine import Machine
from spica.hw.presets import PRESETS
from spica.kernels import toolchain
from spica.sim.engine.verilator_model import HARNESS_SOURCES, NATIVE, build_model
from support.command_line import run_spica


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))


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
    own = zig_environment()[name]
    assert Path(own).parent == cache_directory()
    program = f"import os, sys; sys.exit('error: ' + os.environ[{name!r}])"
    with pytest.raises(UserError, match=f"it failed: error: {own}"):
        compiler.run([sys.executable, "-c", program], "it")
    other = SimpleNamespace(origin="/other/ziglang/__init__.py")
    for owner, function, value in (
        (importlib.util, "find_spec", lambda _: other),
        (zig, "compiler_version", lambda: "0.0.0"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, function, value)
            assert zig_environment()[name] != own
    monkeypatch.setenv(name, "/chosen")
    assert zig_environment()[name] == "/chosen"


OTHERS = [name for name in ("g++", "clang++") if shutil.which(name)]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("source", HARNESS_SOURCES)
def test_harness_compiles(name, source):
    command = [name, "-std=c++20", "-fsyntax-only", f"-I{NATIVE}", str(NATIVE / source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_model_is_built(name, monkeypatch):
    monkeypatch.setenv("SPICA_CXX", name)
    assert find_compiler().command == (name,)
    assert build_model(emit(Machine(PRESETS["tiny"]), "tiny"), optimize=1).exists()


RUN = "run vecadd --preset tiny --engine iss --size 3"


@pytest.mark.full
def test_a_compiler_that_does_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SPICA_CXX", "/bin/true")
    for _ in range(2):  # the first attempt leaves nothing behind
        assert run_spica(RUN) == 2
        said = capsys.readouterr().err.splitlines()[-1]
        assert "/bin/true ended without writing" in said
        assert said.endswith("SPICA_CXX must be a C++ compiler")
    assert not list(tmp_path.glob("cache/iss-*/iss.so"))


@pytest.mark.parametrize(
    ("output", "free", "sentence"),
    [
        ("note: a\nx.cpp:3: error: no such type\nmore", 1 << 30, "x.cpp:3: error: no such type"),
        ("a note\nthe last line\n\n", 1 << 30, "the last line"),
        ("", 1 << 30, "no message"),
        ("anything", 1 << 10, "is full; free some space, or set SPICA_CACHE"),
    ],
)
def test_the_reason_of_a_failure(monkeypatch, tmp_path, output, free, sentence):
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    done = SimpleNamespace(returncode=1, stdout="", stderr=output)
    monkeypatch.setattr(compiler, "run_tool", lambda *_, **__: done)
    with pytest.raises(UserError) as caught:
        compiler.run(["c++", "-o", "x.o"], "linking")
    assert str(caught.value).startswith("linking failed: ")
    assert str(caught.value).endswith(sentence)
    if "is full" in sentence:  # also of a program
        monkeypatch.setattr(toolchain, "run_tool", lambda *_, **__: done)
        with pytest.raises(UserError, match=r"the program does not link: the disk of .* is full"):
            toolchain.tool("cc", [], "the program does not link")
