"""Places of the matrices of products in DRAM."""

import dataclasses
from collections.abc import Sequence

from ...hw.config import MachineConfig
from ...kernels.gemm.problem import GemmProblem
from ..machine.memory_layout import place_buffers

__all__ = ["in_dram"]


def in_dram(config: MachineConfig, products: Sequence[GemmProblem]) -> list[GemmProblem]:
    """Return the products of a program with the places in DRAM that their matrices have."""
    sizes = {
        f"{name}{number or ''}": rows * columns * problem.element_bytes(name)
        for number, problem in enumerate(products)
        for name, (rows, columns, _) in problem.shapes.items()
    }
    places = place_buffers(sizes, config)
    return [
        dataclasses.replace(
            problem,
            **{f"{name}_base": places[f"{name}{number or ''}"].address for name in problem.shapes},
        )
        for number, problem in enumerate(products)
    ]
