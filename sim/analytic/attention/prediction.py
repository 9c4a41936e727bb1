"""Analytic model of ``attention`` commanded by cores: cycles and bytes from config and schedule."""

from ....hw.base.errors import UserError
from ....hw.config import PRESETS, ClusterConfig
from ....kernels.attention.cores import style_of
from ....kernels.attention.problem import AttentionProblem
from ...harness.dram import DramConfig
from ..levels.program import ATTENTION
from ..work import Prediction, require_usual
from . import matrix_fed, register_fed, shared_fed
from .levels import attention_levels

__all__ = ["LEAST", "STYLES", "WHAT", "predict_attention"]

#: The model in messages.
WHAT = "the analytic model of attention"
#: Least sizes; smaller loads shorten the begin.
LEAST = {"queries": 16, "keys": 64}
#: Modules that model the kinds of units, by the names of `kernels.attention.cores.STYLES`.
STYLES = {
    "systolic": matrix_fed,
    "tensor": register_fed,
    "hgmma": shared_fed,
}


def predict_attention(
    config: ClusterConfig, problem: AttentionProblem, memory: DramConfig | None = None
) -> Prediction:
    """Return predicted cycles and exact work of attention on a preset.

    Parameters
    ----------
    config : ClusterConfig
        The machine, one of the presets with cycles of the program.
    problem : AttentionProblem
        Sizes, heads and mask.
    memory : DramConfig or None
        Timing of DRAM; None for the default, which is the measured one.

    Raises
    ------
    UserError
        If the cycles of the program were not measured.

    """
    style = STYLES[style_of(config)]
    preset = preset_of(config, problem.depth)
    program = style.PROGRAMS[preset, problem.depth]
    for name, least in LEAST.items():
        if getattr(problem, name) < least:
            raise UserError(f"{WHAT} needs {least} {name} or more, not {getattr(problem, name)}")
    if problem.overwrites:
        raise UserError(f"{WHAT} needs an O that accumulates, not overwrites=True")
    require_usual(WHAT, memory or DramConfig())
    terms, traffic, cached = style.described(config, program, problem)
    own = ATTENTION[preset, problem.depth]
    return Prediction(
        cycles=sum(terms.values()),
        terms=terms,
        traffic=traffic,
        levels=attention_levels(config, problem, traffic, cached, own),
    )


def preset_of(config: ClusterConfig, depth: int) -> str:
    """Return the preset with measured cycles of the program; raise `UserError` for others."""
    for style in STYLES.values():
        for preset, measured in style.PROGRAMS:
            if measured == depth and PRESETS[preset] == config:
                return preset
    presets = dict.fromkeys(name for style in STYLES.values() for name, _ in style.PROGRAMS)
    raise UserError(f"{WHAT} needs a preset without changes, {' or '.join(presets)}")
