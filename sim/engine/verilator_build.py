"""What Verilator makes of Verilog, and the objects of it."""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...hw.base.errors import UserError
from ..harness.binding import TOP
from .compiler import Compiler, Progress, compile_all, precompile

__all__ = ["compile_generated", "generate", "left_for_later", "together"]


#: Bytes of C++ that one run of the compiler takes at most, where it does not optimize.
TOGETHER = 32_000_000


def left_for_later(directory: Path, optimize: int) -> bool:
    """Return whether what Verilator wrote is better compiled together with what includes it.

    Most of the time for a file goes into the headers, as long as nothing is optimized.
    """
    size = sum(path.stat().st_size for path in directory.glob("*.cpp"))
    return optimize == 0 and size <= TOGETHER


def together(directory: Path, *others: Path) -> str:
    """Return one source of all that was left for later in `directory`, and of `others`."""
    sources = [*sorted(directory.glob("Vtop*.cpp")), *others]
    return "".join(f'#include "{source}"\n' for source in sources)


def compile_generated(
    compiler: Compiler,
    directory: Path,
    flags: Mapping[str, Sequence[str]],
    progress: Progress | None,
) -> None:
    """Compile what Verilator wrote, with the flags of what runs often or those of what runs once.

    Most of the time for a file goes into the headers, which are the same for all.
    """
    header = directory / "Vtop__pch.h"
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        compiled = {
            kind: pool.submit(precompile, compiler, header, each, Path(folder) / kind)
            for kind, each in flags.items()
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
    """Turn Verilog into C++ in `directory`."""
    if progress is not None:
        progress("verilating", 0, 1)
    (directory / "design.v").write_text(verilog)
    command = [str(program), "--cc", "--top-module", TOP, "-Mdir", str(directory)]
    command += [*flags, "--output-split", "20000", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
    command += ["--prefix", "Vtop", str(directory / "design.v")]
    environment = os.environ | {"VERILATOR_ROOT": str(root)}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode:
        said = next((line for line in run.stderr.splitlines() if "%Error" in line), "no message")
        raise UserError(f"Verilator refused {name}: {said.replace(str(directory) + os.sep, '')}")
