"""C++ compiler: selection, parallel compilation and linking."""

import functools
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .build_cache import full_disk
from .build_step import build_step
from .errors import UserError
from .progress import Progress
from .tools import run_tool
from .zig import compiler_version, zig_environment

__all__ = [
    "Compiler",
    "compile_all",
    "find_compiler",
    "link",
    "packaged_zig",
    "precompile",
    "processor",
    "workers",
]


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: its command and the version that it reports."""

    command: tuple[str, ...]
    version: str

    @property
    def is_zig(self) -> bool:
        return "ziglang" in self.command or "zig" in Path(self.command[0]).name

    @property
    def link_flags(self) -> list[str]:
        """Flags of a link of a shared library.

        zig builds the C++ library once for each level, by default with checks and debug
        information: the level of the smallest code takes two thirds of the time.
        """
        flags = ["-shared", "-pthread"] if platform.system() != "Windows" else ["-shared"]
        return [*flags, "-Os", "-g0", "-fno-sanitize=all"] if self.is_zig else flags

    def key(self, flags: Sequence[str]) -> list[str]:
        """Return what objects and libraries depend on besides sources; `flags` are of objects.

        Neither the place of the compiler's package nor folders of headers are part of it: all trees
        and environments share builds of equal sources. The caller adds the headers' texts, or the
        version of the package that has them.
        """
        packaged = self.command == packaged_zig()
        command = ["ziglang", compiler_version()] if packaged else self.command
        flags = [flag for flag in flags if not flag.startswith("-I")]
        return [*command, self.version, *self.link_flags, *flags, processor()]

    def flags(self, optimize: int) -> list[str]:
        """Return the flags of a level: 0 compiles fastest, 2 and above run fastest."""
        if self.is_zig:
            # zig adds debug information by default, and checks without optimization. It has only
            # three levels; its smallest code runs within 5 % of its fastest.
            level = ("-O0", "-Os", "-O2", "-O2")[optimize]
            return [level, "-march=native", "-g0", "-fno-sanitize=all"]
        flags = [f"-O{optimize}", "-march=native"]
        if "clang" not in self.version:
            # Otherwise two models in one process share the statics of inline functions.
            flags.append("-fno-gnu-unique")
        return flags


def packaged_zig() -> tuple[str, ...]:
    """Return the command of the C++ compiler in the package ``ziglang``."""
    return (sys.executable, "-m", "ziglang", "c++")


def precompile(compiler: Compiler, header: Path, flags: Sequence[str], folder: Path) -> list[str]:
    """Precompile a header into `folder`; return the flags of sources that include it first.

    These are `flags` and the option that makes clang or g++ include the compiled header.
    """
    folder.mkdir()
    compiled = folder / f"{header.name}.gch"
    run(
        [*compiler.command, *flags, "-x", "c++-header", str(header), "-o", str(compiled)],
        header.name,
    )
    return [*flags, "-include", str(folder / header.name)]


def candidates() -> list[tuple[str, ...]]:
    """Return the compiler commands to try, fastest simulation first."""
    chosen = os.environ.get("SPICA_CXX")
    if chosen:
        return [tuple(shlex.split(chosen))]
    # Measured on `matrix`: ziglang's clang 82 k cycles/s, g++ 12 46 k, built in the same time.
    compilers: list[tuple[str, ...]] = []
    if importlib.util.find_spec("ziglang"):
        compilers.append(packaged_zig())
    compilers += [(path,) for name in ("clang++", "g++") if (path := shutil.which(name))]
    return compilers


@functools.cache
def probe(command: tuple[str, ...]) -> Compiler | None:
    """Return the compiler behind `command`, or None if it does not run."""
    try:
        run = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=False, timeout=120
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if run.returncode:
        return None
    return Compiler(command, run.stdout.splitlines()[0] if run.stdout else "unknown")


def find_compiler() -> Compiler:
    """Return the compiler to use: ``$SPICA_CXX``, or the first candidate that runs."""
    for command in candidates():
        compiler = probe(command)
        if compiler is not None:
            return compiler
    chosen = os.environ.get("SPICA_CXX")
    if chosen:
        raise UserError(f"SPICA_CXX must be a C++ compiler that runs, not {chosen!r}")
    raise UserError("no C++ compiler found: pip install ziglang, or install clang++ or g++")


@functools.cache
def processor() -> str:
    """Return a text that is equal only for processors with compatible native code."""
    flags = ""
    try:
        text = Path("/proc/cpuinfo").read_text()
        match = re.search(r"^(flags|Features)\s*:(.*)$", text, re.M)
        flags = " ".join(sorted(match[2].split())) if match else ""
        model = re.search(r"^model name\s*:(.*)$", text, re.M)
        flags += model[1] if model else ""
    except OSError:
        pass
    return f"{platform.system()} {platform.machine()} {platform.processor()} {flags}"


@functools.cache
def compilations() -> ThreadPoolExecutor:
    """Return the pool of all compilations of this process, one per processor."""
    return ThreadPoolExecutor(workers())


def workers() -> int:
    """Return the number of parallel compilations."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(command: Sequence[str], what: str) -> None:
    """Run a tool; raise `UserError` with its first error line if it fails or writes no output."""
    result = run_tool(command, env=zig_environment())
    if result.returncode:
        raise UserError(f"{what} failed: {said(result.stderr or result.stdout)}")
    output = Path(command[command.index("-o") + 1])
    if not output.is_file():
        raise UserError(
            f"{what} failed: {command[0]} ended without writing {output.name}; "
            "SPICA_CXX must be a C++ compiler"
        )


def said(text: str) -> str:
    """Return the first error of a tool's output, or its last line, or the likely reason."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if full := full_disk():
        return full
    return next((line for line in lines if "rror" in line), lines[-1] if lines else "no message")


def compile_all(
    compiler: Compiler,
    jobs: Sequence[tuple[Path, Path, Sequence[str]]],
    progress: Progress | None = None,
) -> None:
    """Compile each (source, object, flags) in parallel, largest source first."""
    step = "compiling the model"

    def compile_one(job: tuple[Path, Path, Sequence[str]]) -> None:
        source, target, flags = job
        run([*compiler.command, *flags, "-c", str(source), "-o", str(target)], source.name)

    ordered = sorted(jobs, key=lambda job: -job[0].stat().st_size)
    size = sum(source_bytes(job[0]) for job in jobs)
    levels = " ".join(sorted({flag for job in jobs for flag in job[2] if flag.startswith("-O")}))
    with build_step(progress, step, size=size, total=len(jobs), variant=levels):
        for done, _ in enumerate(compilations().map(compile_one, ordered), 1):
            if progress is not None:
                progress(step, done, len(ordered))


def source_bytes(source: Path) -> int:
    """Return the size of a source and of all sources that it includes by an absolute path."""
    text = source.read_bytes()
    included = re.findall(rb'^#include "(/.*)"', text, re.M)
    return len(text) + sum(os.path.getsize(path) for path in included)


def link(
    compiler: Compiler, objects: Sequence[Path], library: Path, progress: Progress | None = None
) -> None:
    """Link a shared library."""
    size = sum(path.stat().st_size for path in objects)
    with build_step(progress, "linking the model", size=size):
        run(
            [*compiler.command, *compiler.link_flags, *map(str, objects), "-o", str(library)],
            "linking",
        )
