"""Cycles of ``attention`` on tensor units fed by shared memory that no config gives.

They were chosen so that the cycles of small runs agree best, those that are called chosen in
``bench/analytic_attention_cases.py``, with the default timing of DRAM.
"""

from dataclasses import dataclass

__all__ = ["POWER", "PROGRAMS", "ProgramCycles"]

#: Exponent of the passage between the bounds of a block: the larger, the shorter the passage.
POWER = 3


@dataclass(frozen=True, kw_only=True)
class ProgramCycles:
    """Cycles of the program on the cores of a preset, with a head dimension.

    Parameters
    ----------
    begin : int
        Begin marker to the first scores, besides `queries`, and last O to the end marker.
    queries : int
        A warp of the first round: it transposes Q, and at the end divides and stores O.
    chain : int
        A block of a warp that is alone on its core.
    settle : int
        A further warp of a round with several blocks: warps begin in step.
    change : int
        A further round: O of the round before, and Q.
    mask : int
        A tile of scores with hidden keys of the warp with most of them.

    """

    begin: int
    queries: int
    chain: int
    settle: int
    change: int
    mask: int


#: By preset and head dimension.
PROGRAMS = {
    ("hopper", 64): ProgramCycles(
        begin=3584, queries=2635, chain=5423, settle=1003, change=4030, mask=552
    ),
    ("hopper", 128): ProgramCycles(
        begin=6380, queries=1824, chain=5600, settle=2500, change=3402, mask=725
    ),
}
