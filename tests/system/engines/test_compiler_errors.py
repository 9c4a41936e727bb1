"""Tests of compilers that fail: one sentence, and no entry in the cache that looks built."""

import shutil
from types import SimpleNamespace

import pytest

from spica.hw.base import compiler
from spica.hw.base.errors import UserError
from spica.kernels import toolchain
from support.command_line import run_spica

RUN = "run vecadd --preset tiny --engine iss --size 3"


@pytest.mark.full
def test_a_compiler_that_does_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SPICA_CXX", "/bin/true")
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path))
    for _ in range(2):  # the first attempt leaves nothing behind
        assert run_spica(RUN) == 2
        said = capsys.readouterr().err.splitlines()[-1]
        assert "/bin/true ended without writing" in said
        assert said.endswith("SPICA_CXX must be a C++ compiler")
    assert not list(tmp_path.glob("iss-*/iss.so"))


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
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))
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
