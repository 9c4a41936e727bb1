"""Verilator's headers, precompiled once for all models and blocks."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from ...base.build_cache import cached, digest
from ...base.compiler import Compiler, packaged_zig, run

__all__ = ["with_headers"]

#: Header that the generated C++ includes; most of what it includes are headers of C++ itself.
HEADER = "verilated.h"


def with_headers(compiler: Compiler, root: Path, flags: Sequence[str]) -> list[str]:
    """Return the flags of sources, and those by which they take the headers of `root` precompiled.

    The headers are compiled once for each set of flags and kept in the cache: they take three
    quarters of a small source's time. A precompiled header names its sources, and is refused when
    they change, so it belongs to one installation of the compiler and of Verilator; where another
    compiler than the package's is used, sources read the headers themselves.
    """
    if compiler.command != packaged_zig():
        return list(flags)
    header = root / "include" / HEADER

    def build(directory: Path) -> None:
        target = directory / f"{HEADER}.pch"
        run([*compiler.command, *flags, "-x", "c++-header", str(header), "-o", str(target)], HEADER)

    key = digest([*compiler.key(()), *flags, *map(identity, (header, installed_headers()))])
    return [*flags, "-include-pch", str(cached("headers", key, build) / f"{HEADER}.pch")]


def installed_headers() -> Path:
    """Return one of the headers of C++ in the compiler's package."""
    package = importlib.util.find_spec("ziglang")
    assert package is not None and package.origin is not None
    return Path(package.origin).parent / "lib" / "libcxx" / "include" / "string"


def identity(path: Path) -> str:
    """Return what a precompiled header notes of a source: its place, size and time of change."""
    state = path.stat()
    return f"{path} {state.st_size} {state.st_mtime_ns}"
