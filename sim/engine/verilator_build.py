"""C++ that Verilator generates from Verilog, and its compilation."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...base.build_cache import scratch_folder
from ...base.build_step import build_step
from ...base.compiler import Compiler, compile_all, precompile
from ...base.errors import UserError
from ...base.progress import Progress
from ...base.tools import run_tool
from ..harness.binding import TOP

__all__ = ["compile_generated", "generate", "left_for_later", "together"]


#: Maximum bytes of C++ in one run of the compiler without optimization.
TOGETHER = 32_000_000


def left_for_later(directory: Path, optimize: int) -> bool:
    """Return whether to compile the generated C++ later, together with the file that includes it.

    Without optimization, headers take most of the compile time of a file.
    """
    size = sum(path.stat().st_size for path in directory.glob("*.cpp"))
    return optimize == 0 and size <= TOGETHER


def together(directory: Path, *others: Path) -> str:
    """Return one source that includes the uncompiled C++ of `directory`, and `others`."""
    sources = [*sorted(directory.glob("Vtop*.cpp")), *others]
    return "".join(f'#include "{source}"\n' for source in sources)


def compile_generated(
    compiler: Compiler,
    directory: Path,
    flags: Mapping[str, Sequence[str]],
    progress: Progress | None,
) -> None:
    """Compile the generated C++: `flags` are ``fast`` for hot code and ``slow`` for one-time code.

    The headers, which are common to all files, are precompiled: they take most of the time.
    """
    header = directory / "Vtop__pch.h"
    with scratch_folder() as folder, ThreadPoolExecutor() as pool:
        compiled = {
            kind: pool.submit(precompile, compiler, header, level_flags, folder / kind)
            for kind, level_flags in flags.items()
        }
        jobs = []
        for source in directory.glob("*.cpp"):
            kind = "slow" if "Slow" in source.name else "fast"
            jobs.append((source, source.with_suffix(".o"), compiled[kind].result()))
        compile_all(compiler, jobs, progress)


def generate(
    program: Path,
    root: Path,
    name: str,
    verilog: str,
    flags: Sequence[str],
    directory: Path,
    progress: Progress | None,
) -> None:
    """Translate Verilog into C++ in `directory` with Verilator."""
    (directory / "design.v").write_text(verilog)
    command = [str(program), "--cc", "--top-module", TOP, "-Mdir", str(directory)]
    command += [*flags, "--output-split", "20000", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
    command += ["--prefix", "Vtop", str(directory / "design.v")]
    environment = os.environ | {"VERILATOR_ROOT": str(root)}
    with build_step(progress, "verilating", size=len(verilog)):
        run = run_tool(command, env=environment)
    if run.returncode:
        said = next((line for line in run.stderr.splitlines() if "%Error" in line), "no message")
        raise UserError(f"Verilator failed on {name}: {said.replace(str(directory) + os.sep, '')}")
