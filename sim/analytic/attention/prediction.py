"""Analytic model of ``attention`` commanded by cores: exact work, and least cycles."""

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....kernels.attention.problem import AttentionProblem
from ....kernels.gemm.target import is_on_tensor_units, style_in
from ...harness.dram import DramConfig
from ..limits import limits_of
from ..work import Prediction
from .levels import attention_levels
from .styles import TRAFFIC

__all__ = ["WHAT", "predict_attention"]

#: The model in messages.
WHAT = "the analytic model of attention"


def predict_attention(
    config: MachineConfig, problem: AttentionProblem, memory: DramConfig | None = None
) -> Prediction:
    """Return the exact work of attention, for random operands, and its least cycles.

    Parameters
    ----------
    config : MachineConfig
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
    traffic = style_in(TRAFFIC, config, "attention")(config, problem)
    levels = None if is_on_tensor_units(config) else attention_levels(config, problem, traffic)
    limits = limits_of(config, traffic, levels, memory or DramConfig())
    return Prediction(traffic=traffic, limits=limits, levels=levels)
