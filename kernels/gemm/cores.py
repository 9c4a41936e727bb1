"""Problem of the product for the cores: one thread commands DMA and matrix unit."""

from dataclasses import replace

import numpy as np

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ..kernel import Kernel, Problem
from .plan import default_tile
from .problem import GemmProblem
from .product import pose_product
from .reference import reference
from .target import systolic_unit

__all__ = ["command_depth", "command_width", "cores_kernel", "loads_ahead", "operand_rooms", "pose"]


def cores_kernel(config: ClusterConfig, **options) -> Kernel:
    """Return the kernel ``gemm`` for the cores of a machine with a matrix unit.

    Results are compared with the float64 reference; `sim.run.exact_kernels` adds the exact check.
    Options are those of `pose`.
    """
    systolic_unit(config, "gemm on cores")

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        return pose(config, rng, **sizes, **options)[0]

    return Kernel(name="gemm", dimensions=("m", "n", "k"), pose=posed)


def pose(config: ClusterConfig, rng: np.random.Generator, **options) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    `config` has a matrix unit; options are those of `product.pose_product`.
    """
    matrix = systolic_unit(config)

    def expected(problem: GemmProblem, a: np.ndarray, b: np.ndarray):
        return reference(problem, a, b, matrix.rows)

    problem, product = pose_product(rng, matrix.operand, expected, **options)
    return replace(problem, macs=(product.macs,)), product


def command_depth(config: ClusterConfig, *, is_finished: bool = False) -> int:
    """Return the elements along K of the program's computes, `GEMM_K` of ``gemm.h``.

    If `is_finished`, the cores finish C, and a tile of C occupies part of shared memory. Raise
    `UserError` if two tiles of each operand do not fit.
    """
    matrix = systolic_unit(config)
    _, _, wanted = default_tile(config)
    if matrix.a_bytes > matrix.rows * matrix.operand_bytes:
        wanted = matrix.rows
    rooms = operand_rooms(config, is_finished=is_finished)
    tiles = min(room // 2 // block for room, block in zip(rooms, blocks_of(config), strict=True))
    if tiles < 1:
        least = [2 * block for block in blocks_of(config)]
        raise UserError(
            f"gemm on cores needs two tiles of A and two of B in shared memory, {least[0]} and "
            f"{least[1]} bytes of its parts of {rooms[0]} and {rooms[1]}: choose a larger "
            f"shared.size than {config.shared.size}, or a smaller matrix.tile than "
            f"{','.join(map(str, matrix.tile))}"
        )
    return min(wanted, tiles * matrix.rows)


def command_width(config: ClusterConfig) -> int:
    """Return the columns of the program's tiles of C, `GEMM_N` of ``gemm_sizes.h``."""
    matrix = systolic_unit(config)
    if matrix.b_bytes > matrix.columns * matrix.operand_bytes:
        return matrix.columns
    return matrix.tile[1]


def loads_ahead(config: ClusterConfig) -> int:
    """Return the most loads of the program in progress, `GEMM_LOADS` of ``gemm_sizes.h``."""
    assert config.dma is not None  # matrix units need one
    return max(2, config.dma.queue)


def operand_rooms(config: ClusterConfig, *, is_finished: bool = False) -> tuple[int, int]:
    """Return the bytes of shared memory for A and for B, as in ``gemm_sizes.h``.

    If `is_finished`, the cores finish C, and a tile of C follows B.
    """
    matrix, room = systolic_unit(config), config.shared.size
    if not is_finished:
        return room // 2, room - room // 2
    a_block, b_block = blocks_of(config)
    room -= matrix.tile[0] * command_width(config) * matrix.wide_bytes
    a_room = room // (a_block + b_block) * a_block // matrix.b_bytes * matrix.b_bytes
    return a_room, room - a_room


def blocks_of(config: ClusterConfig) -> tuple[int, int]:
    """Return the bytes of a tile of A, and of B, per block of rows along K."""
    matrix = systolic_unit(config)
    blocks = command_width(config) // matrix.columns
    return matrix.tile[0] * matrix.a_bytes, matrix.rows * blocks * matrix.b_bytes
