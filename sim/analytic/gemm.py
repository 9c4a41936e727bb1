"""Analytic model of products commanded by cores: exact work, least cycles, and cycles."""

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...hw.config.arithmetic import ARITHMETIC
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.target import product_operand
from ..harness.dram import DramConfig
from . import pair
from .levels import product_levels
from .limits import limits_of
from .places import in_dram
from .styles import style_of
from .work import FINISHED, PAIR, WHAT, Prediction, Traffic

__all__ = ["KERNELS", "WHAT", "Prediction", "Traffic", "predict", "product_of", "traffic_of"]

#: Kernels that the model describes.
GEMM = "gemm"
KERNELS = (GEMM, *FINISHED, PAIR)


def product_of(
    config: MachineConfig, *, m: int, n: int, k: int, c_format: str | None = None
) -> GemmProblem:
    """Return the product with the places in DRAM that a run of ``gemm`` on the cores has.

    Raises
    ------
    UserError
        If the machine has no cores, or no unit that multiplies.

    """
    if config.core is None:
        raise UserError(f"{WHAT} needs cores that command the matrix unit; this machine has none")
    operand = product_operand(config, WHAT)
    c_format = c_format or ARITHMETIC[operand].narrow
    product = GemmProblem.placed(m=m, n=n, k=k, operand=operand, c_format=c_format)
    return in_dram(config, [product])[0]


def traffic_of(config: MachineConfig, product: GemmProblem, *, kernel: str = GEMM) -> Traffic:
    """Return the exact work of a product on the first matrix unit, or on the tensor units.

    `kernel` is one of `KERNELS`.

    Raises
    ------
    UserError
        If the model does not describe the machine.

    """
    if kernel == PAIR:
        return pair.traffic_of(config, product)
    style = style_of(config, WHAT)
    if kernel == GEMM:
        return style.traffic(config, product)
    if kernel not in FINISHED:
        raise UserError(f"the analytic model needs {', '.join(KERNELS)}, not {kernel}")
    if style.finished is None:
        raise UserError(f"the analytic model of {kernel} needs a matrix unit, not tensor units")
    return style.finished(config, product)


def predict(
    config: MachineConfig,
    product: GemmProblem,
    memory: DramConfig | None = None,
    *,
    kernel: str = GEMM,
) -> Prediction:
    """Return the exact work of a product commanded by cores, and how long it takes.

    Cycles are predicted for ``gemm`` on a matrix unit that the cores of `virgo` command; elsewhere
    there are only limits.

    Parameters
    ----------
    config : MachineConfig
        The machine.
    product : GemmProblem
        The product, with its places in DRAM.
    memory : DramConfig or None
        Timing of DRAM; None for the default.
    kernel : str
        ``gemm``, a kernel whose cores finish C, or ``gemm_pair``, of which `product` is the first
        product: one of `KERNELS`.

    Raises
    ------
    UserError
        If the model does not describe the machine or its memory.

    """
    memory = memory or DramConfig()
    if memory.stall or memory.jitter:
        raise UserError(
            f"{WHAT} needs DRAM without stall and jitter, not {memory.stall} and {memory.jitter}"
        )
    traffic = traffic_of(config, product, kernel=kernel)
    levels = product_levels(config, product, traffic, kernel=kernel)
    active = pair.most_active(config, product) if kernel == PAIR else None
    terms = style_of(config).terms(config, product, memory) if kernel == GEMM else {}
    return Prediction(
        traffic=traffic,
        limits=limits_of(config, traffic, levels, memory, active=active),
        cycles=sum(terms.values()) if terms else None,
        terms=terms,
        levels=levels,
    )
