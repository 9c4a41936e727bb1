"""Analytic model of ``gemm_pair``: two products at once, each on its own matrix unit."""

from collections.abc import Sequence

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ...kernels.gemm.pair import SHARE, unit_view
from ...kernels.gemm.problem import GemmProblem
from ..harness.dram import DramConfig
from . import matrix_fed
from .places import in_dram
from .work import PAIR, Traffic

__all__ = ["cycles_of", "last_of", "products_of", "traffic_of"]

#: From the begin marker of the first core to that of the second: a begin waits for instructions
#: (64 x 64 x 64, 128 x 128 x 128 and 256 x 256 x 256 on `virgo_hetero`).
SECOND_BEGIN = 148


def products_of(config: ClusterConfig, product: GemmProblem) -> list[GemmProblem]:
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


def traffic_of(config: ClusterConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of both products; requesters of the second unit end in 1."""
    both = [
        matrix_fed.traffic_of(unit_view(config, number), each)
        for number, each in enumerate(products_of(config, product))
    ]
    return Traffic(
        active=sum(each.active for each in both),
        shared_read_bytes={
            f"{name}{number or ''}": count
            for number, each in enumerate(both)
            for name, count in each.shared_read_bytes.items()
        },
        dma_read_bytes=sum(each.dma_read_bytes for each in both),
        dma_written_bytes=sum(each.dma_written_bytes for each in both),
    )


def cycles_of(
    config: ClusterConfig, product: GemmProblem, memory: DramConfig
) -> list[dict[str, int]]:
    """Return the predicted cycles of each product by term, as if it had DMA and DRAM alone."""
    return [
        matrix_fed.terms_of(unit_view(config, number), each, memory)
        for number, each in enumerate(products_of(config, product))
    ]


def last_of(both: Sequence[dict[str, int]]) -> dict[str, int]:
    """Return the cycles by term of the product that ends last, of those of `cycles_of`."""
    first, second = both
    second = second | {"begin": second["begin"] + SECOND_BEGIN}
    return max(first, second, key=lambda terms: sum(terms.values()))
