"""Table of the models of matrix units, by the class of their configs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....hw.config import MachineConfig, SystolicConfig, UnitConfig
from ....kernels.gemm.problem import GemmProblem
from ...golden.matrix.gemm import gemm
from .systolic import SystolicDevice

__all__ = ["UNIT_MODELS", "UnitModel", "golden_product"]


@dataclass(frozen=True, kw_only=True)
class UnitModel:
    """Models of a kind of matrix unit.

    Parameters
    ----------
    product : callable
        ``product(unit, problem, a, b, depth)``: C as the numerics of the unit define it, for
        commands with `depth` elements along K (`golden.matrix.gemm`).
    device : callable
        ``device(config, agenda, memory, number)``: the functional model of unit `number` of the
        cluster, with the methods and attributes of `SystolicDevice` that `Devices` uses.

    """

    product: Callable[..., np.ndarray]
    device: Callable[..., Any]


UNIT_MODELS: dict[type[UnitConfig], UnitModel] = {
    SystolicConfig: UnitModel(product=gemm, device=SystolicDevice),
}


def golden_product(config: MachineConfig, problem: GemmProblem, a, b, depth: int) -> np.ndarray:
    """Return C of a product on the first matrix unit of a machine, bit-exact."""
    unit = config.units[0]
    return UNIT_MODELS[type(unit)].product(unit, problem, a, b, depth)
