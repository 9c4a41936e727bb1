"""Cycles of ``attention`` on tensor units fed by registers that no config gives."""

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


#: Machines with tensor units of 16 bits; `ampere` also has a DMA, which the program does not use.
HALF = ProgramCycles(begin=1506, half=2253, warp=231, mask=702, fetch=1399, change=531)

#: By preset and head dimension.
PROGRAMS = {
    ("ampere", 64): HALF,
    ("ampere", 128): ProgramCycles(begin=1542, half=3093, warp=0, mask=666, fetch=55, change=1184),
    ("volta", 64): HALF,
    ("ampere_fp32", 64): ProgramCycles(
        begin=2897, half=3403, warp=0, mask=420, fetch=2416, change=744
    ),
}
