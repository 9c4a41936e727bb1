"""Tile of C that a systolic array computes at a time; the same for a host and for cores."""

from ...hw.config import MachineConfig
from .problem import ceil_div
from .target import systolic_unit

__all__ = ["default_tile"]

#: Least duration of a compute: the host needs it to issue the next compute and its loads.
HOST_CYCLES = 1000


def default_tile(config: MachineConfig) -> tuple[int, int, int]:
    """Return the tile (M, N, K) that suits most products.

    M and N fill the accumulator. A short K lets the first compute start early. K stays long enough
    for rows of a tile to reach all DRAM channels, and for the host to issue commands in time. If a
    block is padded to a word, rows of several blocks are not dense: one block per row.
    """
    matrix = systolic_unit(config)
    m, n, k = matrix.tile
    all_channels = config.axi.masters * config.axi.interleave_bytes // matrix.operand_bytes
    all_commands = ceil_div(HOST_CYCLES * matrix.macs, m * n)
    shortest = ceil_div(max(all_channels, all_commands), matrix.rows) * matrix.rows
    if matrix.a_bytes > matrix.rows * matrix.operand_bytes:
        shortest = matrix.rows
    if matrix.b_bytes > matrix.columns * matrix.operand_bytes:
        n = matrix.columns
    return m, n, min(k, shortest)
