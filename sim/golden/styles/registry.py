"""Tables of the golden models of each style, by the class of its config."""

from collections.abc import Callable

import numpy as np

from ....hw.config import MachineConfig, SystolicConfig, TensorUnitConfig, UnitConfig
from ....hw.styles.register_fed.config import RegisterFedConfig
from ....hw.styles.shared_fed.config import SharedFedConfig
from ....kernels.gemm.problem import GemmProblem
from ....kernels.gemm.target import product_unit
from ..matrix.gemm import gemm
from .cluster_array.attention import attention as cluster_array
from .register_fed.attention import attention as register_fed
from .shared_fed.attention import attention as shared_fed
from .tensor_gemm import tensor_gemm

__all__ = ["GOLDEN_ATTENTION", "GOLDEN_PRODUCTS", "golden_product"]

Kind = type[UnitConfig | TensorUnitConfig]

#: ``product(unit, problem, a, b, depth)``: C as the numerics of the unit define it. Commands to a
#: matrix unit have `depth` elements along K; tensor units have none.
GOLDEN_PRODUCTS: dict[Kind, Callable[..., np.ndarray]] = {
    SystolicConfig: gemm,
    # Both chain dot products along K, whatever the place of their operands.
    RegisterFedConfig: tensor_gemm,
    SharedFedConfig: tensor_gemm,
}
#: ``attention(config, problem, q, k, v)``: O and LSE as the style's program computes them.
GOLDEN_ATTENTION: dict[Kind, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    SystolicConfig: cluster_array,
    RegisterFedConfig: register_fed,
    SharedFedConfig: shared_fed,
}


def golden_product(
    config: MachineConfig, problem: GemmProblem, a, b, depth: int | None = None
) -> np.ndarray:
    """Return C of a product on the unit of a machine that multiplies matrices, bit-exact.

    Parameters
    ----------
    config : MachineConfig
        A machine with a matrix unit, the first of which multiplies, or with tensor units.
    problem : GemmProblem
        The product to compute.
    a, b : ndarray
        Its operands, in the form of `kernels.elements`.
    depth : int or None
        Elements along K of a command to a matrix unit.

    """
    unit = product_unit(config)
    return GOLDEN_PRODUCTS[type(unit)](unit, problem, a, b, depth)
