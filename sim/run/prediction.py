"""Prediction of the analytic model beside a run of ``gemm``."""

from collections.abc import Mapping
from typing import Any

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ..analytic.gemm import predict, product_of
from ..harness.dram import DramConfig

__all__ = ["prediction_section"]


def prediction_section(
    config: ClusterConfig, sizes: Mapping[str, int], c_format: str, memory: object, cycles: int
) -> dict[str, Any] | None:
    """Return the section of a result on predicted cycles; None if the model cannot predict them.

    Parameters
    ----------
    config : ClusterConfig
        The machine.
    sizes : mapping of str to int
        Sizes of the product by dimension.
    c_format : str
        Format of C.
    memory : object
        Config of the memory of the run.
    cycles : int
        Cycles from the begin marker to the end marker of the run.

    """
    if not isinstance(memory, DramConfig):
        return None
    try:
        predicted = predict(config, product_of(config, **sizes, c_format=c_format), memory)
    except UserError:
        return None
    return {
        "cycles": predicted.cycles,
        "difference": predicted.cycles / cycles - 1,
        "terms": predicted.terms,
    }
