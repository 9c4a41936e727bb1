"""Cycles of ``attention`` on tensor units fed by registers that no config gives.

They were chosen so that the cycles of small runs agree best, those that are called chosen in
``bench/analytic_attention_cases.py``, with the default timing of DRAM. `warp` is at least 0: where
cycles of `half` overlap with products of warps, the runs determine only their sum.
"""

from dataclasses import dataclass

__all__ = ["PROGRAMS", "ProgramCycles"]


@dataclass(frozen=True, kw_only=True)
class ProgramCycles:
    """Cycles of the program on the cores of a preset, with a head dimension.

    Parameters
    ----------
    begin : int
        Begin marker to the first half, and the half after the last block to the end marker.
    half : int
        A half of a block besides those of `warp`: copy, meetings, and powers without products of
        another warp.
    warp : int
        A warp in a half besides its products: the unit waits for its operands.
    mask : int
        A chunk of scores with hidden keys of the warp with most of them.
    fetch : int
        More in the first half with hidden keys: instructions that hide them are fetched.
    change : int
        A warp that begins, or that ends, a tile of queries.

    """

    begin: int
    half: int
    warp: int
    mask: int
    fetch: int
    change: int


#: Of tensor units of 16 bits, by head dimension. The DMA of `ampere` has no work in this program.
HALF = {
    64: ProgramCycles(begin=1506, half=2253, warp=231, mask=702, fetch=1399, change=531),
    128: ProgramCycles(begin=1521, half=3094, warp=0, mask=494, fetch=2091, change=1191),
}
#: Of tensor units of 32 bits.
SINGLE = {
    64: ProgramCycles(begin=2897, half=3403, warp=0, mask=420, fetch=2416, change=744),
    128: ProgramCycles(begin=3617, half=3457, warp=0, mask=512, fetch=64, change=1286),
}
#: By preset and head dimension.
PROGRAMS = {
    (preset, depth): program
    for preset, programs in (("ampere", HALF), ("volta", HALF), ("ampere_fp32", SINGLE))
    for depth, program in programs.items()
}
