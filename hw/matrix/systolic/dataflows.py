"""Table of the dataflows of a systolic array."""

from ...config import SystolicConfig
from .dataflow import Dataflow
from .output_stationary import OutputStationary
from .weight_stationary import WeightStationary

__all__ = ["DATAFLOWS", "dataflow_of"]

#: Dataflows by `SystolicConfig.dataflow`.
DATAFLOWS: dict[str, Dataflow] = {
    "weight_stationary": WeightStationary(),
    "output_stationary": OutputStationary(),
}


def dataflow_of(config: SystolicConfig) -> Dataflow:
    """Return the dataflow of an array."""
    return DATAFLOWS[config.dataflow]
