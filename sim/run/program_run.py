"""Run programs on SIMT cores: place their data, execute, check, account."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ...hw.isa.memory_map import ARGUMENTS
from ...kernels.inspection import inspect_program
from ...kernels.kernel import Kernel, Problem
from ...kernels.program import Program
from ..engine.versions import versions
from ..machine.memory_layout import ARGUMENTS_BYTES, Region, place_buffers
from ..machine.saving import UNFINISHED, data_digest
from ..machine.snapshot import program_digest
from ..report.region_report import account_region
from .buffer_check import BufferCheck, check_buffer
from .executors import Executor, prepare
from .loading import Progress, SimtOptions, build, require_cores

__all__ = ["SimtOptions", "run_program", "run_simt"]


def run_simt(
    kernel: Kernel,
    preset: str,
    config: ClusterConfig,
    sizes: dict[str, int],
    options: SimtOptions | None = None,
    *,
    console: Callable[[bytes], None] | None = None,
    progress: Progress | None = None,
    results: dict[str, np.ndarray] | None = None,
) -> dict[str, Any]:
    """Build a kernel, run it and check every buffer.

    Return the result for a file. Raise `ProgramError` if the program does not come to its end.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    preset : str
        Name of the machine.
    config : ClusterConfig
        The preset's config, or a change of it.
    sizes : dict
        The kernel's dimensions.
    options : SimtOptions or None
        How to run it; None for the defaults.
    console : callable or None
        Given what the program prints, as it does.
    progress : callable or None
        Told what is being done, pieces done, pieces in all.
    results : dict or None
        Given what each buffer holds at the end, by its name.

    """
    options = checked(options)
    require_cores(kernel.name, preset, config)
    problem = pose(kernel, sizes, options.seed)
    program = build(kernel.sources, config, options, progress)
    buffers = place_buffers(
        {name: buffer.data.nbytes for name, buffer in problem.buffers.items()}, config
    )
    with prepare(config, program, buffers.values(), options, console, progress) as executor:
        for name, buffer in problem.buffers.items():
            data = np.ascontiguousarray(buffer.data).tobytes()
            executor.write(buffers[name].address, data)
        executor.write(ARGUMENTS, argument_words(problem, buffers).tobytes())
        data = (buffer.data.tobytes() for buffer in problem.buffers.values())
        given = {"kernel": kernel.name, "preset": preset, "sizes": sizes}
        arguments = given | run_arguments(program, options, data)
        what = " x ".join(f"{name} {size}" for name, size in sizes.items())
        sentence = f"running {kernel.name}, {what}, on {preset}"
        if not executor.execute(sentence, progress, arguments):
            return given | {"check": {"verdict": UNFINISHED}}
        found = {
            name: executor.read(buffers[name].address, buffer.data.nbytes)
            for name, buffer in problem.buffers.items()
        }
        done = account(config, executor, options)
    checks = [check_buffer(name, each, found[name]) for name, each in problem.buffers.items()]
    if results is not None:
        for name, buffer in problem.buffers.items():
            results[name] = found[name].view(buffer.data.dtype).reshape(buffer.data.shape)
    if done.get("region"):
        done |= account_region(config, problem.macs, done)
    complaints = inspect_program(program)
    per_instruction = problem.operations / max(1, done["instructions"]["warp"])
    return {
        **{"preset": preset, "kernel": kernel.name, "sizes": sizes},
        **done,
        "operations": problem.operations,
        "operations_per_instruction": per_instruction,
        "complaints": complaints,
        "check": verdict(done, checks, [] if options.allow_spills else complaints),
    }


def run_program(
    paths: Sequence[Path],
    preset: str,
    config: ClusterConfig,
    options: SimtOptions | None = None,
    *,
    console: Callable[[bytes], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run a user's own program, from sources or from one ELF file; arguments as of `run_simt`.

    Return the result for a file, with the program's exit code. What the inspection complains of is
    part of it and no failure.
    """
    options = checked(options)
    require_cores(paths[0].name, preset, config)
    program = build(paths, config, options, progress)
    with prepare(config, program, [], options, console, progress) as executor:
        given = {"program": [str(path) for path in paths], "preset": preset}
        arguments = given | run_arguments(program, options, [])
        if not executor.execute(f"running {paths[0].name}", progress, arguments):
            return given | {"check": {"verdict": UNFINISHED}}
        done = account(config, executor, options)
    return {
        "preset": preset,
        "program": [str(path) for path in paths],
        **done,
        "complaints": inspect_program(program),
        "check": {"verdict": "fail" if done["exit_code"] else "pass"},
    }


def checked(options: SimtOptions | None) -> SimtOptions:
    """Return the options, if a run can have them all."""
    options = options or SimtOptions()
    options.saving.require_sound(options.engine, options.trace is not None, options.max_cycles)
    return options


def run_arguments(program: Program, options: SimtOptions, data: Iterable[bytes]) -> dict[str, Any]:
    """Return what else a run that goes on must have been given alike, if it is or will be saved."""
    if not options.saving.is_wanted:
        return {}
    return {
        "code": program_digest(program),
        "data": data_digest(data),
        "seed": options.seed,
        "allowed_regions": options.allowed_regions,
        "spica": versions()["spica"],
    }


def pose(kernel: Kernel, sizes: dict[str, int], seed: int) -> Problem:
    """Return the problem, or say why there is none of these sizes."""
    try:
        return kernel.problem(sizes, seed)
    except ValueError as error:
        given = " x ".join(map(str, sizes.values()))
        raise UserError(f"{kernel.name} {given}: {error}") from None


def argument_words(problem: Problem, buffers: dict[str, Region]) -> np.ndarray:
    """Return what stands at `ARGUMENTS`."""
    words = []
    for argument in problem.arguments:
        if isinstance(argument, str):
            words.append(buffers[argument].address)
        elif isinstance(argument, float):
            words.append(int(np.float32(argument).view(np.uint32)))
        else:
            words.append(int(argument) & 0xFFFF_FFFF)
    assert 4 * len(words) <= ARGUMENTS_BYTES, "arguments must fit a page"
    return np.array(words, dtype=np.uint32)


def account(config: ClusterConfig, executor: Executor, options: SimtOptions) -> dict[str, Any]:
    """Return what a run did and how it was made, for a result file."""
    return {
        "engine": options.engine,
        "optimize": options.optimize,
        "seed": options.seed,
        "exit_code": executor.exit_code,
        "device_errors": executor.device_errors,
        **executor.account(),
        "versions": versions(),
        "config": dataclasses.asdict(config.resolved),
    }


def verdict(
    done: dict[str, Any], checks: list[BufferCheck], complaints: list[str]
) -> dict[str, Any]:
    """Return the verdict on a kernel: its buffers, its exit code, its code, devices' errors."""
    found = {
        "exit_code": done["exit_code"],
        "device_errors": done["device_errors"],
        "complaints": complaints,
    }
    wrong = any(found.values()) or any(check.wrong for check in checks)
    return {
        "verdict": "fail" if wrong else "pass",
        **found,
        "buffers": {check.name: dataclasses.asdict(check) for check in checks},
    }
