"""Tests of the choice of compilers, their errors and their caches."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from spica.hw.base import compiler, zig
from spica.hw.base.build_cache import cache_directory
from spica.hw.base.errors import UserError
from spica.hw.base.zig import zig_environment


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
    mine = zig_environment()[name]
    assert Path(mine).parent == cache_directory()
    program = f"import os, sys; sys.exit('error: ' + os.environ[{name!r}])"
    with pytest.raises(UserError, match=f"it failed: error: {mine}"):
        compiler.run([sys.executable, "-c", program], "it")
    other = SimpleNamespace(origin="/other/ziglang/__init__.py")
    for owner, function, value in (
        (importlib.util, "find_spec", lambda _: other),
        (zig, "compiler_version", lambda: "0.0.0"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, function, value)
            assert zig_environment()[name] != mine
    monkeypatch.setenv(name, "/chosen")
    assert zig_environment()[name] == "/chosen"
