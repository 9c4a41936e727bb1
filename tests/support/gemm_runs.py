"""Runs of products as programs of the cores, also of programs with a planted fault."""

import dataclasses
import shutil

from spica.sim.diagnose.diagnostics import ProgramError
from spica.sim.run.exact_kernels import exact_cores_kernel
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

__all__ = ["assert_fault_is_detected", "assert_right", "run_product"]


def run_product(config, size, *, seed=1, **options):
    """Run a product, on the instruction-set model by default; return its result.

    Options are those of the run, ``kernel``, and those of the kernel's data.
    """
    settings = {
        name: options.pop(name)
        for name in ("engine", "schedule", "lockstep", "memory", "max_cycles", "max_instructions")
        if name in options
    }
    kernel = options.pop("kernel", None) or exact_cores_kernel(config, **options)
    sizes = dict(zip("mnk", size, strict=True))
    return run_workload(
        KernelWorkload(kernel, sizes),
        "machine",
        config,
        SimtOptions(**({"engine": "iss"} | settings), seed=seed),
    )


def assert_right(result):
    assert result["check"]["verdict"] == "pass", result["check"]
    assert result["check"]["code_warnings"] == []


def assert_fault_is_detected(config, kernel, size, fault, folder):
    """Run a kernel with a text of a file replaced, in a folder; its result must be wrong."""
    name, old, new = fault
    for path in kernel.sources[0].parent.glob("*.[ch]"):
        shutil.copy(path, folder)
    text = (folder / name).read_text()
    assert text.count(old) == 1
    (folder / name).write_text(text.replace(old, new))
    broken = dataclasses.replace(kernel, folder=folder)
    try:
        result = run_product(config, size, kernel=broken, schedule="random", seed=2)
    except ProgramError:
        return
    assert result["check"]["verdict"] == "fail"
