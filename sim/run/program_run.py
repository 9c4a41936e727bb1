"""Runs of kernels and programs on SIMT cores: data, execution, check, result."""

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
from ..machine.saving import data_digest
from ..machine.snapshot import program_digest
from ..report.result import (
    FAIL,
    FUNCTIONAL,
    PASS,
    check_section,
    complete,
    memory_section,
    new_result,
    record_failure,
    saved,
)
from ..report.utilization import account_cores
from .buffer_check import check_buffer
from .executors import prepare
from .loading import MODEL, Progress, SimtOptions, build, require_cores, with_memory

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

    Return the result for a file. Raise `ProgramError` if the program does not reach its end.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    preset : str
        Name of the machine.
    config : ClusterConfig
        Config of the machine.
    sizes : dict
        Sizes of the kernel by dimension.
    options : SimtOptions or None
        Options of the run; None for the defaults.
    console : callable or None
        Called with console output as it arrives.
    progress : callable or None
        Called with the stage, the steps done and all steps.
    results : dict or None
        Filled with the final contents of each buffer, by its name.

    """
    options = checked(config, options)
    require_cores(kernel.name, preset, config)
    problem = pose(kernel, sizes, options.seed)
    result = begun(preset, config, options, problem, kernel=kernel.name, sizes=sizes)
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
        with record_failure(result):
            if not executor.execute(sentence, progress, arguments):
                return saved(result)
        found = {
            name: executor.read(buffers[name].address, buffer.data.nbytes)
            for name, buffer in problem.buffers.items()
        }
        done = executor.account()
        code, errors = executor.exit_code, executor.device_errors
    checks = {
        name: check_buffer(name, buffer, found[name]) for name, buffer in problem.buffers.items()
    }
    if results is not None:
        for name, buffer in problem.buffers.items():
            results[name] = found[name].view(buffer.data.dtype).reshape(buffer.data.shape)
    if done.get("region"):
        done |= account_cores(config, problem.macs, done)
    warnings = inspect_program(program)
    failed = (
        code
        or errors
        or (warnings and not options.allow_spills)
        or not all(check.passed for check in checks.values())
    )
    return complete(
        result,
        **done,
        check=check_section(
            FAIL if failed else PASS,
            exit_code=code,
            device_errors=errors,
            code_warnings=warnings,
            buffers={name: check.as_dict() for name, check in checks.items()},
        ),
        operations=problem.operations,
        operations_per_instruction=problem.operations / max(1, done["instructions"]["warp"]),
    )


def run_program(
    paths: Sequence[Path],
    preset: str,
    config: ClusterConfig,
    options: SimtOptions | None = None,
    *,
    console: Callable[[bytes], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run a program from sources or from one ELF file; parameters as of `run_simt`.

    Return the result for a file; its verdict is that of the program's exit code. Warnings of the
    inspection and errors of devices are part of the result and do not change the verdict.
    """
    options = checked(config, options)
    require_cores(paths[0].name, preset, config)
    names = [str(path) for path in paths]
    result = begun(preset, config, options, program=names)
    program = build(paths, config, options, progress)
    with prepare(config, program, [], options, console, progress) as executor:
        given = {"program": names, "preset": preset}
        arguments = given | run_arguments(program, options, [])
        with record_failure(result):
            if not executor.execute(f"running {paths[0].name}", progress, arguments):
                return saved(result)
        return complete(
            result,
            **executor.account(),
            check=check_section(
                FAIL if executor.exit_code else PASS,
                exit_code=executor.exit_code,
                device_errors=executor.device_errors,
                code_warnings=inspect_program(program),
            ),
        )


def checked(config: ClusterConfig, options: SimtOptions | None) -> SimtOptions:
    """Return the options with a memory model; raise `UserError` if they exclude each other."""
    options = options or SimtOptions()
    options.saving.require_sound(options.engine, options.trace is not None, options.max_cycles)
    return options if options.engine == MODEL else with_memory(config, options)


def begun(
    preset: str,
    config: ClusterConfig,
    options: SimtOptions,
    problem: Problem | None = None,
    **work: Any,
) -> dict[str, Any]:
    """Return the result of a run that begins; `work` is a kernel with its sizes, or a program."""
    how: dict[str, Any] = {"optimize": options.optimize, "allow_spills": options.allow_spills}
    if options.engine == MODEL or options.memory is None:
        how |= {"schedule": options.schedule}
        memory = FUNCTIONAL
    else:
        how |= {"lockstep": options.lockstep, "gating": options.gating}
        memory = memory_section(options.memory)
    if problem is not None and problem.formats:
        how |= {"data": problem.data, "formats": dict(problem.formats)}
    return new_result(
        preset=preset,
        config=config,
        engine=options.engine,
        driver="cores",
        seed=options.seed,
        options=how,
        memory=memory,
        **work,
    )


def run_arguments(program: Program, options: SimtOptions, data: Iterable[bytes]) -> dict[str, Any]:
    """Return the inputs that a resumed run must share with the saved one; none without saving."""
    if not options.saving.is_wanted:
        return {}
    return {
        "code": program_digest(program),
        "data": data_digest(data),
        "seed": options.seed,
        "allow_regions": options.allow_regions,
        "spica": versions()["spica"],
    }


def pose(kernel: Kernel, sizes: dict[str, int], seed: int) -> Problem:
    """Return the problem; raise `UserError` if there is none of these sizes."""
    try:
        return kernel.problem(sizes, seed)
    except ValueError as error:
        given = " x ".join(map(str, sizes.values()))
        raise UserError(f"{kernel.name} {given}: {error}") from None


def argument_words(problem: Problem, buffers: dict[str, Region]) -> np.ndarray:
    """Return the words at `ARGUMENTS`."""
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
