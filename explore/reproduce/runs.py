"""Runs of the designs of the published comparison."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...sim.harness.dram import DramConfig
from ...sim.run.request.energy import EVENTS, RunEnergy
from ...sim.run.request.request import Request
from ...sim.run.request.resolve import resolve
from ..work.kernel_run import KernelRun, kernel_run

__all__ = ["KERNEL", "OVERWRITING", "PAIR", "UNITS", "attention_run", "gemm_run", "pair_run"]

KERNEL = "gemm"
#: Suffix of a design whose attention overwrites O.
OVERWRITING = ", O overwritten"
#: Kernels whose runs have energies, so that all tables share them.
WITH_ENERGY = (KERNEL, "attention")
#: Machine with two matrix units, and what works in its runs.
PAIR = "virgo_hetero"
UNITS = (f"{PAIR}, first unit", f"{PAIR}, second unit", f"{PAIR}, both units")


def gemm_run(design: str, size: int) -> KernelRun:
    """Return the product of a design; C is compared bit by bit, instructions are not."""
    return run_of(KERNEL, design, dict.fromkeys("mnk", size))


def attention_run(design: str, size: int) -> KernelRun:
    """Return the attention of a design: one head of `size` queries and keys, depth 64."""
    preset = design.removesuffix(OVERWRITING)
    product = {"overwrites": True} if preset != design else {}
    return run_of("attention", design, {"queries": size, "depth": 64}, preset, product)


def pair_run(design: str, size: int) -> KernelRun:
    """Return the products of one unit or of both: of `size` on the first, half of it on the second.

    `design` is one of `UNITS`.
    """
    units = ((0,), (1,), (0, 1))[UNITS.index(design)]
    return run_of("gemm_pair", design, dict.fromkeys("mnk", size), PAIR, {"units": units})


def run_of(
    kernel: str,
    design: str,
    sizes: dict[str, int],
    preset: str | None = None,
    product: Mapping[str, Any] | None = None,
) -> KernelRun:
    """Return the run of a kernel; `preset` is the machine, if it is not the design."""
    request = Request(
        kernel=kernel,
        preset=preset or design,
        driver="cores",
        sizes=sizes,
        problem=product or {},
        memory=DramConfig(),
        is_lockstep_usual=False,
    )
    energy = RunEnergy(option=EVENTS) if kernel in WITH_ENERGY else None
    return replace(kernel_run(resolve(request), energy), preset=design)
