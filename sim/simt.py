"""Run programs on SIMT cores: place their data, execute, check, account."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..hw.address_map import ARGUMENTS
from ..hw.config import ClusterConfig
from ..hw.errors import UserError
from ..kernels.inspection import inspect_program
from ..kernels.kernel import Kernel, Problem
from .buffers import BufferCheck, check_buffer
from .iss.outcome import Outcome, Stop
from .loading import Loaded, Progress, SimtOptions, build, load, require_cores
from .mistakes import ProgramError, explain
from .places import ARGUMENTS_BYTES, Region, place_buffers
from .stacks import core_of
from .versions import versions

__all__ = ["SimtOptions", "run_program", "run_simt"]

#: Instructions between two chances to interrupt or to show progress.
CHUNK = 2_000_000


def run_simt(
    kernel: Kernel,
    preset: str,
    config: ClusterConfig,
    sizes: dict[str, int],
    options: SimtOptions | None = None,
    *,
    console: Callable[[bytes], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Build a kernel, run it on the instruction-set model and check every buffer.

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

    """
    options = options or SimtOptions()
    require_cores(kernel.name, preset, config)
    problem = pose(kernel, sizes, options.seed)
    program = build(kernel.sources, config, options, progress)
    buffers = place_buffers(
        {name: buffer.data.nbytes for name, buffer in problem.buffers.items()}, config
    )
    loaded = load(config, program, buffers.values(), options, console)
    for name, buffer in problem.buffers.items():
        loaded.iss.write(buffers[name].address, np.ascontiguousarray(buffer.data).tobytes())
    loaded.iss.write(ARGUMENTS, argument_words(problem, buffers).tobytes())
    outcome = execute(loaded, options, f"running {kernel.name}", progress)
    checks = [
        check_buffer(name, buffer, loaded.iss.read(buffers[name].address, buffer.data.nbytes))
        for name, buffer in problem.buffers.items()
    ]
    complaints = inspect_program(program)
    head = {"preset": preset, "kernel": kernel.name, "sizes": sizes}
    per_instruction = problem.operations / max(1, outcome.instructions)
    return {
        **head,
        **account(loaded, outcome, options),
        "operations": problem.operations,
        "operations_per_instruction": per_instruction,
        "complaints": complaints,
        "check": verdict(
            outcome, checks, [] if options.allow_spills else complaints, device_errors(loaded)
        ),
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
    options = options or SimtOptions()
    require_cores(paths[0].name, preset, config)
    program = build(paths, config, options, progress)
    loaded = load(config, program, [], options, console)
    outcome = execute(loaded, options, f"running {paths[0].name}", progress)
    return {
        "preset": preset,
        "program": [str(path) for path in paths],
        **account(loaded, outcome, options),
        "complaints": inspect_program(program),
        "check": {"verdict": "wrong" if outcome.exit_code else "right"},
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


def execute(
    loaded: Loaded, options: SimtOptions, sentence: str, progress: Progress | None
) -> Outcome:
    """Run to the end and return the outcome of the whole; raise `ProgramError` at any other end."""
    instructions, began = 0, time.perf_counter()
    while True:
        left = options.max_instructions - instructions
        outcome = loaded.iss.run(min(CHUNK, left))
        instructions += outcome.instructions
        if outcome.stop is not Stop.LIMIT or instructions >= options.max_instructions:
            break
        if progress is not None:
            progress(f"{sentence}, millions of instructions", instructions // 1_000_000, 0)
    whole = dataclasses.replace(
        outcome, instructions=instructions, seconds=time.perf_counter() - began
    )
    if whole.stop is not Stop.DONE:
        raise ProgramError(explain(loaded.iss, loaded.program, loaded.places, whole))
    return whole


def account(loaded: Loaded, outcome: Outcome, options: SimtOptions) -> dict[str, Any]:
    """Return what a run did and how it was made, for a result file."""
    config, counts = loaded.places.config, loaded.iss.statistics
    slots = counts.instructions * core_of(config).threads
    return {
        "engine": "iss",
        "optimize": options.optimize,
        "schedule": options.schedule,
        "seed": options.seed,
        "exit_code": outcome.exit_code,
        "instructions": {"warp": counts.instructions, "thread": counts.thread_instructions},
        "lanes_used_percent": 100 * counts.thread_instructions / max(1, slots),
        "instructions_by_unit": {unit.value: count for unit, count in counts.units.items()},
        "instructions_by_name": counts.mnemonics,
        "instructions_by_core": list(counts.core_instructions),
        "loads": counts.loads,
        "stores": counts.stores,
        "divergent_splits": counts.divergent_splits,
        "barriers": counts.barriers,
        "device_errors": device_errors(loaded),
        "console": loaded.iss.console.decode(errors="replace"),
        "simulated_instructions_per_second": outcome.instructions / max(outcome.seconds, 1e-9),
        "versions": versions(),
        "config": dataclasses.asdict(config.resolved),
    }


def device_errors(loaded: Loaded) -> str:
    """Return in words what the error registers of the devices hold; nothing without an error."""
    devices = loaded.iss.devices
    return devices.describe() if devices.error else ""


def verdict(
    outcome: Outcome, checks: list[BufferCheck], complaints: list[str], errors: str
) -> dict[str, Any]:
    """Return the verdict on a kernel: its buffers, its exit code, its code, devices' errors."""
    wrong = outcome.exit_code or complaints or errors or any(check.wrong for check in checks)
    return {
        "verdict": "wrong" if wrong else "right",
        "exit_code": outcome.exit_code,
        "device_errors": errors,
        "complaints": complaints,
        "buffers": {check.name: dataclasses.asdict(check) for check in checks},
    }
