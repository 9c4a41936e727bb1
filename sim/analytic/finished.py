"""Exact work of products whose cores finish C: with a bias, an activation, or an addition."""

from dataclasses import replace

from ...hw.base.errors import UserError
from ...hw.config import WORD_BYTES, ClusterConfig
from ...kernels.gemm.plan import ceil_div
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.target import is_on_tensor_units
from .cluster_array import require_described, unit_traffic
from .program_steps import ProgramStep, program_steps
from .work import CORES, FINISHED, PAIR, Traffic

__all__ = ["KERNELS", "traffic_of"]

#: Kernels that the model describes.
KERNELS = FINISHED
#: Columns of a tile that a lane has.
LANE_COLUMNS = 2


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


def finish_read_words(config: ClusterConfig, product: GemmProblem, step: ProgramStep) -> int:
    """Return the words of shared memory that the cores read for the tile that a step completes.

    A lane reads the elements of its two columns one after the other. The columns are neighbours if
    C is FP16; otherwise those of all lanes are. Lanes with words in one row of the row port read
    the whole row, others a word each.
    """
    assert config.core is not None
    row = (config.row_bytes or 0) // WORD_BYTES
    lanes, is_half = config.core.threads, product.c_format == "fp16"
    words = 0
    width = LANE_COLUMNS * lanes
    for first in range(0, step.n, width):
        columns = min(width, step.n - first)
        if is_half:
            parts = (ceil_div(columns, LANE_COLUMNS), columns // LANE_COLUMNS)
        else:
            parts = (min(lanes, columns), max(0, columns - lanes))
        distance = LANE_COLUMNS if is_half else 1
        for part in parts:
            is_row = part and (part - 1) * distance < row
            words += row if is_row else part
    return words * step.m
