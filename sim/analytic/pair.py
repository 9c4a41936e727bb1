"""Exact work of ``gemm_pair``: two products at once, each on its own matrix unit."""

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...kernels.gemm.pair import SHARE, unit_view
from ...kernels.gemm.problem import GemmProblem
from .places import in_dram
from .styles import style_of
from .work import PAIR, Traffic

__all__ = ["most_active", "products_of", "traffic_of"]


def products_of(config: MachineConfig, product: GemmProblem) -> list[GemmProblem]:
    """Return both products with their places in DRAM, of which the first is `product`.

    Raises
    ------
    UserError
        If the machine does not have two matrix units.

    """
    if len(config.units) < 2 or config.cores < 2:
        raise UserError(
            f"the analytic model of {PAIR} needs two matrix units and two cores, not "
            f"{len(config.units)} and {config.cores}"
        )
    m, n, k = (max(1, size // SHARE) for size in (product.m, product.n, product.k))
    operand = config.units[1].operand
    second = GemmProblem.placed(m=m, n=n, k=k, operand=operand, c_format=product.c_format)
    return in_dram(config, [product, second])


def works_of(config: MachineConfig, product: GemmProblem) -> list[Traffic]:
    """Return the exact work of each product."""
    return [
        style_of(view := unit_view(config, number)).traffic(view, problem)
        for number, problem in enumerate(products_of(config, product))
    ]


def traffic_of(config: MachineConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of both products; requesters of the second unit end in 1."""
    both = works_of(config, product)
    return Traffic(
        active=sum(traffic.active for traffic in both),
        shared_read_bytes={
            f"{name}{number or ''}": count
            for number, traffic in enumerate(both)
            for name, count in traffic.shared_read_bytes.items()
        },
        dma_read_bytes=sum(traffic.dma_read_bytes for traffic in both),
        dma_written_bytes=sum(traffic.dma_written_bytes for traffic in both),
    )


def most_active(config: MachineConfig, product: GemmProblem) -> int:
    """Return the cycles in which the unit with most work computes."""
    return max(traffic.active for traffic in works_of(config, product))
