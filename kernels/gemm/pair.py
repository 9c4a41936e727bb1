"""Problem of two concurrent products on two matrix units that share the cluster."""

import dataclasses
from collections.abc import Callable

import numpy as np

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ..kernel import Kernel, Problem
from .problem import GemmProblem
from .styles import style_of

__all__ = ["cores_kernel", "pose", "unit_view"]

#: The second product has half of each size, since its unit has half of each side.
SHARE = 2
WORDS = 10  # words of the program's structure `Gemm`


def unit_view(config: MachineConfig, number: int) -> MachineConfig:
    """Return the cluster reduced to one of its two units and half of shared memory."""
    half = dataclasses.replace(
        config.shared, size=config.shared.size // 2, banks=max(1, config.shared.banks // 2)
    )
    return dataclasses.replace(config.unit(number), shared=half)


def cores_kernel(config: MachineConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return the kernel ``gemm_pair``; raise `UserError` without two units and two cores."""
    if len(config.units) < 2 or config.cores < 2:
        raise UserError(
            f"gemm_pair needs two matrix units and two cores; this machine has "
            f"{len(config.units)} and {config.cores}"
        )
    return Kernel(name="gemm_pair", dimensions=("m", "n", "k"), pose=posed)


def pose(
    config: MachineConfig,
    rng: np.random.Generator,
    *,
    m: int,
    n: int,
    k: int,
    units: tuple[int, ...] = (0, 1),
    **options,
) -> tuple[Problem, dict[int, GemmProblem]]:
    """Return the problem for the program, and the product of each unit.

    Parameters
    ----------
    config : MachineConfig
        A machine with two matrix units.
    rng : Generator
        Generator of the operands.
    m, n, k : int
        Sizes of the first product; the second has half of each, at least 1.
    units : tuple of int
        Units that get a product.
    options
        Options of `pose` of the style.

    """
    buffers, arguments, macs, products = {}, [], [], {}
    formats: dict[str, str] = {}
    for number in range(2):
        sizes = {"m": m, "n": n, "k": k}
        if number:
            sizes = {name: max(1, size // SHARE) for name, size in sizes.items()}
        if number not in units:
            arguments += [0] * WORDS
            macs.append(0)
            continue
        view = unit_view(config, number)
        problem, product = style_of(view).pose(view, rng, **sizes, **options)
        mark = str(number) if number else ""
        buffers |= {name + mark: buffer for name, buffer in problem.buffers.items()}
        arguments += [
            argument + mark if isinstance(argument, str) else argument
            for argument in problem.arguments
        ]
        formats |= {name + mark: form for name, form in problem.formats.items()}
        macs.append(product.macs)
        products[number] = product
    posed = Problem(
        buffers=buffers,
        arguments=tuple(arguments),
        operations=2 * sum(macs),
        macs=tuple(macs),
        formats=formats,
        data=options.get("data", "random"),
    )
    return posed, products
