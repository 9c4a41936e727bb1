"""Tiles of the program ``gemm`` for the cores, and its ranges of shared memory."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.isa.memory_map import numbered
from ..target import systolic_unit
from ..tile import default_tile

__all__ = ["ProgramTiles", "program_tiles", "unit_constants"]


@dataclass(frozen=True, kw_only=True)
class ProgramTiles:
    """Largest tiles, ranges of shared memory, and loads in progress: constants of the program.

    The range of B begins behind that of A. If the cores finish C, a tile of C follows.

    Parameters
    ----------
    m, n, k : int
        Elements of the largest tiles.
    a_room, b_room : int
        Bytes of shared memory for A and for B.
    a_bytes, b_bytes : int
        Bytes of a largest tile of A and of B.
    loads : int
        Most loads in progress: as many as the DMA queues, so that none stalls its warp, and at
        least both of one step, which are queued together.

    """

    m: int
    n: int
    k: int
    a_room: int
    b_room: int
    a_bytes: int
    b_bytes: int
    loads: int


def program_tiles(config: MachineConfig, *, is_finished: bool = False) -> ProgramTiles:
    """Return the tiles of the program ``gemm``, or of one whose cores finish C, for a machine.

    Raise `UserError` if two tiles of each operand do not fit.
    """
    tiles = tiles_within(config, config.shared.size, is_finished=is_finished)
    a_pair, b_pair = 2 * tiles.a_bytes, 2 * tiles.b_bytes
    if a_pair > tiles.a_room or b_pair > tiles.b_room:
        tile = ",".join(map(str, systolic_unit(config).tile))
        raise UserError(
            f"gemm on cores needs two tiles of A and two of B in shared memory, {a_pair} and "
            f"{b_pair} bytes of its parts of {tiles.a_room} and {tiles.b_room}: choose a larger "
            f"shared.size than {config.shared.size}, or a smaller matrix.tile than {tile}"
        )
    return tiles


def unit_constants(config: MachineConfig, number: int) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and meaning of the constants of ``gemm_sizes.h`` for a matrix unit.

    Programs have all of shared memory, or, on two units, each half of it.
    """
    view, size = config.unit(number), config.shared.size
    programs = {
        "gemm": tiles_within(view, size),
        "finished_gemm": tiles_within(view, size, is_finished=True),
        "half_gemm": tiles_within(view, size // 2),
    }
    for program, tiles in programs.items():
        for name, value in asdict(tiles).items():
            yield f"{numbered(program, number)}_plan_{name}", str(value), ""


def tiles_within(
    config: MachineConfig, shared_bytes: int, *, is_finished: bool = False
) -> ProgramTiles:
    """Return the tiles in a part of shared memory, the smallest ones if they do not fit.

    Each operand has a half. If `is_finished`, a tile of C is at the end, and the rest is shared in
    proportion to the blocks of A and B along K.
    """
    matrix, dma = systolic_unit(config), config.dma
    assert dma is not None  # matrix units need one
    m, n, k = default_tile(config)
    a_block, b_block = m * matrix.a_bytes, matrix.rows * (n // matrix.columns) * matrix.b_bytes
    a_room = shared_bytes // 2
    if is_finished:
        shared_bytes -= m * n * matrix.wide_bytes
        a_room = shared_bytes // (a_block + b_block) * a_block // matrix.b_bytes * matrix.b_bytes
    b_room = shared_bytes - a_room
    blocks = max(1, min(k // matrix.rows, a_room // 2 // a_block, b_room // 2 // b_block))
    return ProgramTiles(
        **{"m": m, "n": n, "k": blocks * matrix.rows, "a_room": a_room, "b_room": b_room},
        **{"a_bytes": blocks * a_block, "b_bytes": blocks * b_block, "loads": max(2, dma.queue)},
    )
