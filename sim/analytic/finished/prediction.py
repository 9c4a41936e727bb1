"""Analytic model of products whose cores finish C: with a bias, an activation, or an addition."""

from dataclasses import replace

from ....hw.base.errors import UserError
from ....hw.config import PRESETS, WORD_BYTES, ClusterConfig
from ....kernels.gemm.problem import GemmProblem
from ....kernels.gemm.target import is_on_tensor_units
from ...harness.dram import DramConfig
from ..matrix_fed import require_described, unit_traffic
from ..program_steps import program_steps
from ..work import CORES, PAIR, Traffic, require_usual
from .program import COSTS
from .tiles import finish_read_words
from .timeline import FinishedTimeline

__all__ = ["KERNELS", "terms_of", "traffic_of"]

#: Kernels that the model describes.
KERNELS = tuple(COSTS)
#: Machine whose program cycles `program` has.
MEASURED = "virgo"


def traffic_of(kernel: str, config: ClusterConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of a product: that of the unit, and words that the cores read of C."""
    require_unit(kernel, config)
    steps = list(program_steps(config, product, is_finished=True))
    traffic = unit_traffic(config, product, steps)
    read = sum(finish_read_words(config, product, step) for step in steps if step.last)
    return replace(
        traffic,
        shared_read_bytes=traffic.shared_read_bytes | {CORES: read * WORD_BYTES},
        dma_written_bytes=0,
    )


def terms_of(
    kernel: str, config: ClusterConfig, product: GemmProblem, memory: DramConfig
) -> dict[str, int]:
    """Return the predicted cycles by term of `timeline.TERMS` and `FINISHED_TERMS`."""
    require_unit(kernel, config)
    if config != PRESETS[MEASURED]:
        raise UserError(f"{described(kernel)} needs the preset {MEASURED} without changes")
    require_usual(described(kernel), memory)
    steps = list(program_steps(config, product, is_finished=True))
    return FinishedTimeline(kernel, config, product, memory, steps).run()


def described(kernel: str) -> str:
    """Return the name of the model in messages."""
    return f"the analytic model of {kernel}"


def require_unit(kernel: str, config: ClusterConfig):
    """Raise `UserError` if the model does not describe the kernel or the machine."""
    if kernel not in KERNELS:
        known = ("gemm", PAIR, *KERNELS)
        raise UserError(f"the analytic model needs {', '.join(known)}, not {kernel}")
    if is_on_tensor_units(config):
        raise UserError(f"{described(kernel)} needs a matrix unit, not tensor units")
    require_described(config)
