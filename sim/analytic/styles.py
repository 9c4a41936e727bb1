"""Table of the analytic models of each style for products, by the class of its config."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...hw.config import MachineConfig, SystolicConfig, TensorUnitConfig, UnitConfig
from ...hw.styles.register_fed.config import RegisterFedConfig
from ...hw.styles.shared_fed.config import SharedFedConfig
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.target import style_in
from ..harness.dram import DramConfig
from .cluster_array import product as cluster_array
from .cluster_array.finished import finished_traffic
from .register_fed import product as register_fed
from .shared_fed import product as shared_fed
from .work import Counted, Traffic

__all__ = ["STYLES", "AnalyticStyle", "style_of"]


@dataclass(frozen=True, kw_only=True)
class AnalyticStyle:
    """Analytic model of the program of a style.

    Parameters
    ----------
    traffic : callable
        ``traffic(config, product)``: exact work of the program.
    finished : callable or None
        ``finished(config, product)``: that of a kernel of `FINISHED`, whose cores finish C.
    counted : callable
        ``counted(config, result)``: what the counters of a run show of the units.
    operand_bytes : callable
        ``operand_bytes(config, product)``: bytes of A and B in DRAM that the program reads through
        the caches; None if the DMA reads them.
    terms : callable
        ``terms(config, product, memory)``: predicted cycles of ``gemm`` by cause; none where the
        model has only limits.

    """

    traffic: Callable[[MachineConfig, GemmProblem], Traffic]
    counted: Callable[[MachineConfig, Mapping[str, Any]], Counted]
    finished: Callable[[MachineConfig, GemmProblem], Traffic] | None = None
    operand_bytes: Callable[[MachineConfig, GemmProblem], int | None] = lambda config, product: None
    terms: Callable[[MachineConfig, GemmProblem, DramConfig], dict[str, int]] = (
        lambda config, product, memory: {}
    )


STYLES: dict[type[UnitConfig | TensorUnitConfig], AnalyticStyle] = {
    SystolicConfig: AnalyticStyle(
        traffic=cluster_array.traffic_of,
        counted=cluster_array.counted,
        finished=finished_traffic,
        terms=cluster_array.terms_of,
    ),
    RegisterFedConfig: AnalyticStyle(
        traffic=register_fed.traffic_of,
        counted=register_fed.counted,
        operand_bytes=register_fed.operand_bytes,
    ),
    SharedFedConfig: AnalyticStyle(
        traffic=shared_fed.traffic_of,
        counted=shared_fed.counted,
    ),
}


def style_of(config: MachineConfig, user: str = "a product") -> AnalyticStyle:
    """Return the models of the unit on which a machine multiplies matrices."""
    return style_in(STYLES, config, user)
