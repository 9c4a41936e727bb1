"""Tensor units with operands in registers, as a style."""

from ..style import TensorStyle
from .layouts import event_layout
from .register_fed_unit import RegisterFedUnit

__all__ = ["REGISTER_FED"]

REGISTER_FED = TensorStyle(
    name="register_fed",
    component=lambda config: RegisterFedUnit(config.core),
    events=event_layout(),
    classes=("RegisterFedUnit",),
    manual="docs/tensor_cores.md#data-path",
)
