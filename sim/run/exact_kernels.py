"""Matrix products and attention as programs of the cores, with bit-exact expected results."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from ...hw.config import MachineConfig
from ...kernels.attention import cores as attention_cores
from ...kernels.gemm import add, bias, pair
from ...kernels.gemm.finished import finished_kernel
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.product import stored_operands, wide_problem, with_golden
from ...kernels.gemm.styles import style_of
from ...kernels.gemm.target import style_in
from ...kernels.kernel import Kernel, Problem, find_kernel, kernel_folders
from ..golden.matrix.gemm_finish import add_to, finished
from ..golden.styles.registry import GOLDEN_ATTENTION, golden_product

__all__ = [
    "EXACT_KERNELS",
    "exact_add_kernel",
    "exact_attention_kernel",
    "exact_bias_kernel",
    "exact_cores_kernel",
    "exact_pair_kernel",
    "kernel_names",
    "kernel_of",
]


def exact_cores_kernel(config: MachineConfig, **options) -> Kernel:
    """Return ``gemm`` for cores, with its C also checked bit by bit against the golden model.

    Parameters
    ----------
    config : MachineConfig
        A cluster with a matrix unit, or with tensor units in its cores.
    options
        Options of `pose` of the unit's style (`kernels.gemm.styles`).

    """
    style = style_of(config, "gemm on cores")

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        problem, product = style.pose(config, rng, **sizes, **options)
        operands = stored_operands(problem, product)
        golden = partial(golden_product, config, product, *operands, command_depth(config))
        return with_golden(problem, golden)

    return style.kernel(config, posed)


def exact_add_kernel(config: MachineConfig, **options) -> Kernel:
    """Return ``gemm_add``, with C checked bit by bit; arguments as in `exact_cores_kernel`."""

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        problem, product = add.pose(config, rng, **sizes, **options)
        depth = command_depth(config, is_finished=True)

        def golden() -> np.ndarray:
            before = problem.buffers["c"].data[:, : product.n]
            return add_to(before, accumulated(config, problem, product, depth), product.c_format)

        return with_golden(problem, golden)

    return finished_kernel("gemm_add", config, posed)


def exact_bias_kernel(name: str, config: MachineConfig, **options) -> Kernel:
    """Return a kernel of `bias.ACTIVATIONS`, with C checked bit by bit; options of `bias.pose`."""

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        problem, product = bias.pose(name, config, rng, **sizes, **options)
        depth = command_depth(config, is_finished=True)

        def golden() -> np.ndarray:
            total = accumulated(config, problem, product, depth)
            return finished(name, total, problem.buffers["bias"].data, product.c_format)

        return with_golden(problem, golden)

    return bias.cores_kernel(name, config, posed)


def exact_pair_kernel(config: MachineConfig, **options) -> Kernel:
    """Return ``gemm_pair``, with both results checked bit by bit; options of `pair.pose`."""

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        problem, products = pair.pose(config, rng, **sizes, **options)
        for number, product in products.items():
            view = pair.unit_view(config, number)
            mark = str(number) if number else ""
            a, b = stored_operands(problem, product, mark)
            golden = partial(golden_product, view, product, a, b, command_depth(view))
            problem = with_golden(problem, golden, f"c{mark}")
        return problem

    return pair.cores_kernel(config, posed)


def exact_attention_kernel(config: MachineConfig, **options) -> Kernel:
    """Return ``attention``, with O and LSE checked bit by bit; options of `attention.cores.pose`.

    Bits are those of the golden model of the machine's kind of unit.
    """
    golden = style_in(GOLDEN_ATTENTION, config, "attention")

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        problem, attention = attention_cores.pose(config, rng, **sizes, **options)

        @cache
        def results() -> tuple[np.ndarray, np.ndarray]:
            return golden(config, attention, *(problem.buffers[name].data for name in "qkv"))

        exact = {
            "o": dataclasses.replace(problem.buffers["o"], golden=lambda: results()[0]),
            "lse": dataclasses.replace(problem.buffers["lse"], golden=lambda: results()[1]),
        }
        return dataclasses.replace(problem, buffers={**problem.buffers, **exact})

    return attention_cores.attention_kernel(config, posed)


#: Kernels that use a matrix unit, by name.
EXACT_KERNELS: dict[str, Callable[..., Kernel]] = {
    "gemm": exact_cores_kernel,
    "gemm_add": exact_add_kernel,
    **{name: partial(exact_bias_kernel, name) for name in bias.ACTIVATIONS},
    "gemm_pair": exact_pair_kernel,
    "attention": exact_attention_kernel,
}


def kernel_names() -> list[str]:
    """Return the names of all kernels, those of matrix and tensor units included."""
    return sorted({*EXACT_KERNELS, *kernel_folders()})


def kernel_of(name: str, config: MachineConfig, product: Mapping[str, Any]) -> Kernel:
    """Return a kernel of the cores; `product` are options of a matrix product or of attention."""
    exact = EXACT_KERNELS.get(name)
    return exact(config, **product) if exact else find_kernel(name)


def accumulated(
    config: MachineConfig, problem: Problem, product: GemmProblem, depth: int | None
) -> np.ndarray:
    """Return the product in the accumulator's format, the input of the cores' epilogue."""
    return golden_product(config, wide_problem(product), *stored_operands(problem, product), depth)


def command_depth(config: MachineConfig, *, is_finished: bool = False) -> int | None:
    """Return the elements along K of a command of the program to the matrix unit.

    None on tensor units, which get no commands. Raise `UserError` if the tiles of a command do not
    fit, so before the program is built.
    """
    depth = style_of(config).depth
    return depth and depth(config, is_finished)
