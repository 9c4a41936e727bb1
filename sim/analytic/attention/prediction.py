"""Analytic model of ``attention`` commanded by cores: exact work, and least cycles."""

from ....hw.base.errors import UserError
from ....hw.config import ClusterConfig
from ....kernels.attention.cores import style_of
from ....kernels.attention.problem import AttentionProblem
from ...harness.dram import DramConfig
from ..limits import limits_of
from ..work import Prediction
from . import cluster_array, register_fed, shared_fed
from .levels import attention_levels

__all__ = ["STYLES", "WHAT", "predict_attention"]

#: The model in messages.
WHAT = "the analytic model of attention"
#: Modules with the work of the styles, by the names of `kernels.attention.cores.STYLES`.
MATRIX_UNIT = "cluster_array"
STYLES = {
    MATRIX_UNIT: cluster_array,
    "register_fed": register_fed,
    "shared_fed": shared_fed,
}


def predict_attention(
    config: ClusterConfig, problem: AttentionProblem, memory: DramConfig | None = None
) -> Prediction:
    """Return the exact work of attention, for random operands, and its least cycles.

    Parameters
    ----------
    config : ClusterConfig
        The machine.
    problem : AttentionProblem
        Sizes, heads and mask.
    memory : DramConfig or None
        Timing of DRAM; None for the default.

    Raises
    ------
    UserError
        If the machine has no unit for attention, or the problem overwrites O.

    """
    if problem.overwrites:
        raise UserError(f"{WHAT} needs an O that accumulates, not overwrites=True")
    style = style_of(config)
    traffic = STYLES[style].traffic_of(config, problem)
    levels = attention_levels(config, problem, traffic) if style == MATRIX_UNIT else None
    limits = limits_of(config, traffic, levels, memory or DramConfig())
    return Prediction(traffic=traffic, limits=limits, levels=levels)
