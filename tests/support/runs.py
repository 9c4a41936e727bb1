"""Runs of kernels and programs as `spica run` makes them, also of kernels with planted faults."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from spica.hw.config import MachineConfig
from spica.hw.presets import PRESETS
from spica.kernels.kernel import Kernel
from spica.sim.diagnose.diagnostics import ProgramError
from spica.sim.run.exact_kernels import kernel_of
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload, ProgramWorkload
from spica.sim.run.workload import run_workload

__all__ = ["failure_of", "is_found", "passed", "planted", "run_kernel", "run_program"]

#: A preset, or the config of another machine.
Machine = str | MachineConfig


def run_on(machine: Machine, workload, results=None, **options) -> dict:
    """Run a workload and return its result; `options` are those of `SimtOptions`."""
    name, config = (machine, PRESETS[machine]) if isinstance(machine, str) else ("machine", machine)
    return run_workload(workload, name, config, SimtOptions(**options), results=results)


def run_program(path: Path, machine: Machine = "tiny", **options) -> dict:
    """Run a program and return its result."""
    return run_on(machine, ProgramWorkload([path]), **options)


def failure_of(path: Path, machine: Machine = "tiny", **options) -> tuple[dict, str]:
    """Run a program that must fail; return the description of its error, and the text."""
    with pytest.raises(ProgramError) as caught:
        run_program(path, machine, **options)
    return caught.value.diagnostics, str(caught.value)


def run_kernel(
    kernel: Kernel | str,
    size: Sequence[int],
    machine: Machine = "tiny",
    results: dict[str, np.ndarray] | None = None,
    **options,
) -> dict:
    """Run a kernel with sizes in the order of its dimensions; return its result."""
    if isinstance(kernel, str):
        config = PRESETS[machine] if isinstance(machine, str) else machine
        kernel = kernel_of(kernel, config, {})
    sizes = dict(zip(kernel.dimensions, size, strict=True))
    return run_on(machine, KernelWorkload(kernel, sizes), results, **options)


def passed(result: dict) -> dict:
    """Return a result, which must be a pass."""
    assert result["check"]["verdict"] == "pass", (result["sizes"], result["check"])
    return result


def planted(kernel: Kernel, folder: Path, *changes: tuple[str, ...], beside=()) -> Kernel:
    """Return a kernel with texts replaced in its sources, each of which occurs once.

    A change has a text and its replacement, maybe after the name of the file. The sources go to
    `folder`, with headers of the folder above and of folders `beside` that of the kernel.
    """
    own = kernel.sources[0].parent
    paths = [
        *own.glob("*.[ch]"),
        *own.parent.glob("*.h"),
        *(path for name in beside for path in own.with_name(name).glob("*.h")),
    ]
    texts = {path: path.read_text() for path in paths}
    for *name, old, new in changes:
        (path,) = [
            path for path, text in texts.items() if old in text and (not name or path.name in name)
        ]
        assert texts[path].count(old) == 1, old
        texts[path] = texts[path].replace(old, new)
    for path, text in texts.items():
        copy = folder / path.relative_to(own.parent)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text)
    return dataclasses.replace(kernel, folder=folder / own.name)


def is_found(kernel: Kernel, size: Sequence[int], machine: Machine, **options) -> bool:
    """Return whether a run of a kernel with a fault ends with an error or a wrong value."""
    try:
        result = run_kernel(kernel, size, machine, **options)
    except ProgramError:
        return True
    return result["check"]["verdict"] == "fail"
