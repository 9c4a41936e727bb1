"""Tensor units with operands in shared memory, as a style."""

from ..style import TensorStyle, UnitCounter
from .config import SharedFedBlockConfig
from .layouts import event_layout
from .shared_fed_unit import SharedFedUnit

__all__ = ["SHARED_FED"]

COUNTERS = (
    UnitCounter(
        name="tensor_active_cycles",
        event="active",
        meaning="cycles in which a step of a product started",
        track="tensor units",
        label="multiply",
        colour="compute",
    ),
    UnitCounter(
        name="tensor_operand_waits",
        event="operand_wait",
        meaning="cycles a product with C waited for A or B",
        track="tensor units",
        label="wait for operands",
        colour="wait_a",
    ),
    UnitCounter(
        name="tensor_c_waits",
        event="c_wait",
        meaning="cycles a product with A and B waited for C",
        track="tensor units",
        label="wait for C",
        colour="wait_drain",
    ),
)

SHARED_FED = TensorStyle(
    name="shared_fed",
    component=lambda config: SharedFedUnit(SharedFedBlockConfig.of(config)),
    events=event_layout(),
    counters=COUNTERS,
    classes=("SharedFedUnit",),
    manual="docs/shared_operands.md#data-path",
)
