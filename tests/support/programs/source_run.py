"""Bench that compiles a program and runs it on the instruction-set model with data in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from spica.base.errors import MachineError
from spica.hw.config import CoreConfig, MachineConfig
from spica.hw.isa.memory_map import ARGUMENTS
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.program import Program
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Outcome

__all__ = ["PROGRAMS", "cluster", "loaded", "read_words", "require_done", "run_named", "run_source"]

#: Folder of test programs.
PROGRAMS = Path(__file__).parents[1] / "c_programs"
#: More instructions than any program of a bench executes.
LIMIT = 1 << 32


def cluster(cores: int, warps: int, threads: int, **fields) -> MachineConfig:
    """Return `core` with other numbers of cores, warps and threads, and other fields."""
    core = CoreConfig(warps=warps, threads=threads)
    return replace(PRESETS["core"], cores=cores, core=core, **fields)


def loaded(
    source: Path,
    config: MachineConfig,
    *,
    arguments: Sequence[int] = (),
    data: Mapping[int, bytes | np.ndarray] | None = None,
    optimize: int = 3,
    schedule: str = "round_robin",
    garbage: bool = False,
) -> tuple[Program, Iss]:
    """Return a program and an instruction-set model ready to run it.

    Parameters
    ----------
    source : Path
        Source file in C, C++ or assembly.
    config : MachineConfig
        Config of the machine.
    arguments : sequence of int
        Words at `ARGUMENTS`.
    data : mapping of int to bytes or ndarray, or None
        Initial contents of memory, by address.
    optimize : int
        Optimization level of the compiler.
    schedule : str
        Warp schedule of the model.
    garbage : bool
        Whether the memory of zero-initialized variables holds other values before the start.

    """
    program = Program.load(compile_program([source], config, optimize=optimize))
    iss = Iss(config, schedule=schedule)
    for address, contents in program.segments:
        iss.write(address, contents)
    if garbage:
        start = program.bss.start
        iss.write(start, b"\xa5" * (program.end + 64 - start))
    if arguments:
        iss.write(ARGUMENTS, np.array(arguments, np.uint32))
    for address, contents in (data or {}).items():
        iss.write(address, contents)
    iss.reset(program.entry)
    return program, iss


def require_done(outcome: Outcome, exit_code: int = 0) -> None:
    """Raise `MachineError` unless the program ended with this exit code."""
    if outcome.stop is not StopReason.DONE or outcome.exit_code != exit_code:
        said = outcome.fault.sentence if outcome.fault else f"exit code {outcome.exit_code}"
        raise MachineError(
            f"the program must end with exit code {exit_code}, not {outcome.stop}, {said}"
        )


def run_source(
    source: Path, config: MachineConfig, *, exit_code: int = 0, **options
) -> tuple[Iss, Outcome]:
    """Run a program to its end; return model and outcome. `options` are those of `loaded`."""
    _, iss = loaded(source, config, **options)
    outcome = iss.run(LIMIT)
    require_done(outcome, exit_code)
    return iss, outcome


def run_named(
    name: str, config: MachineConfig, arguments: Sequence[int] = (0,), **options
) -> tuple[Iss, Outcome]:
    """Run a test program to its end; return model and outcome."""
    return run_source(PROGRAMS / name, config, arguments=arguments, **options)


def read_words(iss: Iss, address: int, count: int) -> np.ndarray:
    """Return words of memory."""
    return iss.read(address, 4 * count).view(np.uint32)
