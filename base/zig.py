"""zig, the compiler of programs and models: its version, and the environment it runs in."""

import functools
import importlib.metadata
import importlib.util
import os
import sys
from pathlib import Path

from .build_cache import cache_directory, digest
from .entries_in_use import use_entry
from .errors import UserError

__all__ = ["compiler_version", "zig_command", "zig_environment"]


@functools.cache
def compiler_version() -> str:
    """Return the version of the installed compiler."""
    try:
        return importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        raise UserError(
            "ziglang compiles programs and is not installed: run `pip install ziglang`"
        ) from None


def zig_command() -> list[str]:
    """Return the command of zig: its executable, which starts faster than its Python package."""
    compiler_version()
    spec = importlib.util.find_spec("ziglang")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    for name in ("zig", "zig.exe"):
        if (folder / name).is_file():
            return [str(folder / name)]
    return [sys.executable, "-m", "ziglang"]


def zig_environment() -> dict[str, str]:
    """Return the environment of zig: each installation has a cache of its own, unless one is set.

    Installations with a common cache rebuild its libraries whenever they alternate, and wait for
    each other's locks.
    """
    environment = dict(os.environ)
    if spec := importlib.util.find_spec("ziglang"):
        key = digest([str(spec.origin), compiler_version()])
        folder = cache_directory() / f"zig-{key}"
        use_entry(folder)
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(folder))
    return environment
