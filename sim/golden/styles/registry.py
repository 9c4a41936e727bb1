"""Table of the golden models of attention of each style, by the class of its config."""

from collections.abc import Callable

import numpy as np

from ....hw.config import SystolicConfig, TensorUnitConfig, UnitConfig
from ....hw.styles.register_fed.config import RegisterFedConfig
from ....hw.styles.shared_fed.config import SharedFedConfig
from .cluster_array.attention import attention as cluster_array
from .register_fed.attention import attention as register_fed
from .shared_fed.attention import attention as shared_fed

__all__ = ["GOLDEN_ATTENTION"]

#: ``attention(config, problem, q, k, v)``: O and LSE as the style's program computes them.
GOLDEN_ATTENTION: dict[
    type[UnitConfig | TensorUnitConfig], Callable[..., tuple[np.ndarray, np.ndarray]]
] = {
    SystolicConfig: cluster_array,
    RegisterFedConfig: register_fed,
    SharedFedConfig: shared_fed,
}
