"""Build and cache of the instruction-set model's C++ library."""

import functools
from collections.abc import Mapping
from pathlib import Path

from ...base.build_cache import cached, digest
from ...base.compiler import compile_all, find_compiler, link
from ...base.native_interface import NativeLibrary
from ...base.progress import Progress
from ...hw.isa.instructions import INSTRUCTIONS, Instruction
from .coefficients import special_header
from .native_types import ISS, NATIVE
from .table import header

__all__ = ["build_library", "load_library", "model_identity"]

SOURCES = (
    *("machine.cpp", "phase_waits.cpp", "api.cpp", "races/races.cpp", "races/updates.cpp"),
    "memory_check/memory_check.cpp",
)
# The processor's floats compute the machine's, so the compiler must not contract or reorder them.
FLAGS = ("-std=c++20", "-fPIC", "-ffp-contract=off", "-fno-fast-math", "-Wall", "-Wextra")


def texts() -> list[str]:
    """Return names and texts of all C++ sources and headers."""
    contents = []
    for path in sorted(NATIVE.rglob("*")):
        if path.suffix in (".cpp", ".hpp"):
            contents += [path.name, path.read_text()]
    return contents


def build_library(
    instructions: Mapping[str, Instruction] = INSTRUCTIONS, progress: Progress | None = None
) -> Path:
    """Return the path of the library; build it if it is not in the cache.

    Parameters
    ----------
    instructions : mapping of str to Instruction
        Source of the generated instruction table.
    progress : callable or None
        Progress callback.

    """
    compiler = find_compiler()
    generated = {"table.hpp": header(instructions), "special_tables.hpp": special_header()}
    flags = [*FLAGS, *compiler.flags(2)]

    def build(directory: Path) -> None:
        for name, text in generated.items():
            (directory / name).write_text(text)
        local = [*flags, f"-I{directory}", f"-I{NATIVE}"]
        objects = [directory / f"{Path(name).stem}.o" for name in SOURCES]
        jobs = [
            (NATIVE / name, target, local) for name, target in zip(SOURCES, objects, strict=True)
        ]
        compile_all(compiler, jobs, progress)
        link(compiler, objects, directory / "iss.so", progress)
        for path in directory.iterdir():
            if path.name not in ("iss.so", *generated):
                path.unlink()

    key = digest([*generated.values(), *texts(), *compiler.key(flags)])
    return cached("iss", key, build, progress) / "iss.so"


@functools.cache
def model_identity() -> str:
    """Return a hash of the format of a machine's state, independent of the compiler."""
    return digest([header(INSTRUCTIONS), *texts()])


@functools.cache
def load_library() -> NativeLibrary:
    """Return the loaded library."""
    return NativeLibrary(build_library(), ISS)
