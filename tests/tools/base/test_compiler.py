"""Tests of the compiler of native code: what its builds depend on."""

import sys

from spica.base import compiler
from spica.base.compiler import Compiler, find_compiler

FLAGS = ["-O2", "-DVM_TRACE=0"]


def test_environments_share_builds(monkeypatch):
    """Neither the interpreter's place nor folders of headers are part of a key."""
    monkeypatch.delenv("SPICA_CXX", raising=False)
    here = find_compiler()
    key = here.key([*FLAGS, "-I/here"])
    monkeypatch.setattr(sys, "executable", "/another/python")
    there = Compiler(compiler.packaged_zig(), here.version)
    assert there.command != here.command
    assert there.key([*FLAGS, "-I/there"]) == key


def test_what_changes_code_changes_the_key(monkeypatch):
    packaged = Compiler(compiler.packaged_zig(), "clang 20")
    keys = [packaged.key(flags) for flags in (FLAGS, FLAGS[:1], ["-O0", *FLAGS[1:]])]
    keys += [Compiler(packaged.command, "clang 21").key(FLAGS)]
    keys += [Compiler(("/opt/clang++",), "clang 20").key(FLAGS)]
    for name in ("compiler_version", "processor"):
        monkeypatch.setattr(compiler, name, lambda: "another")
        keys.append(packaged.key(FLAGS))
    assert len({tuple(key) for key in keys}) == len(keys)
