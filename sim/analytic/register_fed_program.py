"""Cycles of the program ``gemm`` on tensor units fed by registers that no config gives."""

from dataclasses import dataclass

__all__ = ["PROGRAMS", "ProgramCycles"]


@dataclass(frozen=True, kw_only=True)
class ProgramCycles:
    """Cycles of the program on the cores of a preset.

    Parameters
    ----------
    begin : int
        Begin marker to the first load of the DMA, or of a lane.
    copy : int
        First copies of the cores up to the first meeting; 0 with a DMA.
    first : int
        First meeting to the first product.
    turn : int
        Between two tiles of operands.
    least : int
        Least cycles from a tile of operands to the next one: commands of the loads of a tile, or
        copies of it, and meetings.
    change, deep_change, ragged_change : int
        Between two tiles of C: with one tile of operands each, with several, and besides the
        instructions of stores of elements, part of which overlap with products.
    store, ragged_store : int
        Last product to the end of the last store, and besides the instructions of such stores.

    """

    begin: int
    copy: int
    first: int
    turn: int
    least: int
    change: int
    deep_change: int
    ragged_change: int
    store: int
    ragged_store: int


#: By preset. `begin`, `copy` and `turn` are between events of pipeline logs, except `turn` of
#: `volta`. The others were chosen so that the cycles of 20, 16 and 20 products agree best, with a
#: DRAM latency of 100 cycles and C in FP16, FP32 and FP16.
PROGRAMS = {
    "ampere": ProgramCycles(
        begin=700,
        copy=0,
        first=961,
        turn=17,
        least=1186,
        change=538,
        deep_change=629,
        ragged_change=50,
        store=491,
        ragged_store=111,
    ),
    "ampere_fp32": ProgramCycles(
        begin=700,
        copy=0,
        first=930,
        turn=5,
        least=1186,
        change=668,
        deep_change=691,
        ragged_change=-77,
        store=564,
        ragged_store=92,
    ),
    "volta": ProgramCycles(
        begin=1072,
        copy=690,
        first=1073,
        turn=207,
        least=800,
        change=1495,
        deep_change=1504,
        ragged_change=661,
        store=586,
        ragged_store=179,
    ),
}

#: Commands of a tile of operands: a load, the rest of a tile, and the wait after the last tile.
LOAD, TILE, AWAIT = 58, 207, 102
#: From the end of the loads of the first tile to the first meeting.
LOADED = 120
#: Instructions of a warp that stores its block of C element by element: all that it executes, and
#: further ones of each register with an element of C, by the size of an element in bytes.
STORE_INSTRUCTIONS = {2: (227, 9), 4: (197, 8)}
#: From the end of the last store to the end marker.
END = 45
