"""Table of the exact work of attention of each style, by the class of its config."""

from collections.abc import Callable

from ....hw.config import MachineConfig, SystolicConfig, TensorUnitConfig, UnitConfig
from ....hw.styles.register_fed.config import RegisterFedConfig
from ....hw.styles.shared_fed.config import SharedFedConfig
from ....kernels.attention.problem import AttentionProblem
from ..work import Traffic
from .cluster_array import traffic_of as cluster_array
from .register_fed.traffic import traffic_of as register_fed
from .shared_fed import traffic_of as shared_fed

__all__ = ["TRAFFIC"]

TRAFFIC: dict[
    type[UnitConfig | TensorUnitConfig], Callable[[MachineConfig, AttentionProblem], Traffic]
] = {
    SystolicConfig: cluster_array,
    RegisterFedConfig: register_fed,
    SharedFedConfig: shared_fed,
}
