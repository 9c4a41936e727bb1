"""Tests of precompiled headers of generated C++."""

from pathlib import Path

import pytest

from spica.base.compiler import compile_all, find_compiler, packaged_zig
from spica.sim.engine.verilated_headers import with_headers

FLAGS = ("-O0", "-fPIC")
SOURCE = '#include "verilated.h"\nint value() { return VALUE; }\n'


@pytest.fixture
def root(tmp_path):
    """Provide a folder like Verilator's, with one header."""
    if find_compiler().command != packaged_zig():
        pytest.skip("only the packaged compiler precompiles headers")
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "verilated.h").write_text("#pragma once\n#define VALUE 5\n")
    return tmp_path


def flags_of(root: Path) -> list[str]:
    """Return the flags of a source; the header is found beside them as well."""
    return with_headers(find_compiler(), root, [*FLAGS, f"-I{root / 'include'}"])


def compiled(root: Path, flags: list[str]) -> bytes:
    """Compile a source that includes the header."""
    (root / "source.cpp").write_text(SOURCE)
    compile_all(find_compiler(), [(root / "source.cpp", root / "source.o", flags)])
    return (root / "source.o").read_bytes()


def test_objects_are_those_of_the_header_itself(root):
    flags = flags_of(root)
    assert Path(flags[-1]).is_file()
    assert flags == flags_of(root)
    assert compiled(root, flags) == compiled(root, flags[:-2])


def test_another_header_is_compiled_again(root):
    first = flags_of(root)
    before = compiled(root, first)
    header = root / "include" / "verilated.h"
    header.write_text(header.read_text().replace("5", "66"))
    assert (second := flags_of(root)) != first
    assert compiled(root, second) != before


def test_another_compiler_reads_the_header_itself(root, monkeypatch):
    monkeypatch.setattr("spica.sim.engine.verilated_headers.packaged_zig", lambda: ("other",))
    assert flags_of(root) == [*FLAGS, f"-I{root / 'include'}"]
