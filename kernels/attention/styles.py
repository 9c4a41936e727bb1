"""Table of the programs of each style for attention, by the class of its config."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...hw.config import MachineConfig, SystolicConfig, TensorUnitConfig, UnitConfig
from ...hw.styles.register_fed.config import RegisterFedConfig
from ...hw.styles.shared_fed.config import SharedFedConfig
from ..gemm.target import style_in
from .cluster_array.plan import attention_plan as cluster_array_plan
from .register_fed.plan import attention_plan as register_fed_plan
from .shared_fed.plan import attention_plan as shared_fed_plan

__all__ = ["STYLES", "AttentionStyle", "style_of"]


@dataclass(frozen=True, kw_only=True)
class AttentionStyle:
    """Program of a style.

    Parameters
    ----------
    name : str
        Name of the style, that of its folder.
    plan : callable
        ``plan(config, depth)``: sizes of the program, with their macros as `defines`.
    overwrites : bool
        Whether the program can overwrite O (`AttentionProblem`).

    """

    name: str
    plan: Callable[[MachineConfig, int], Any]
    overwrites: bool = False


STYLES: dict[type[UnitConfig | TensorUnitConfig], AttentionStyle] = {
    SystolicConfig: AttentionStyle(name="cluster_array", plan=cluster_array_plan, overwrites=True),
    RegisterFedConfig: AttentionStyle(name="register_fed", plan=register_fed_plan),
    SharedFedConfig: AttentionStyle(name="shared_fed", plan=shared_fed_plan),
}


def style_of(config: MachineConfig, user: str = "attention") -> AttentionStyle:
    """Return the style of the unit on which a machine multiplies matrices, or raise `UserError`."""
    return style_in(STYLES, config, user)
