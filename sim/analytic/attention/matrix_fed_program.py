"""Cycles of the program ``attention`` on a matrix unit that no field of a config gives.

Those of `virgo` were chosen on ``spica run attention --preset virgo --no-lockstep`` of 64x64,
128x64, 192x64, 64x64 with 320 keys, 320x64 with 64 keys, and 128x64 with a causal mask, with the
default timing of DRAM. `begin` and `softmax` are of the timeline of 1024x64 (docs/attention.md),
`stall` is of the counters of 192x64. Those of `virgo_fp32` were chosen on 64x64, 128x64, 64x64 with
320 keys, 160x64 with 64 keys, and 128x64 with a causal mask; `stall` is of the counters of 1024x64.
These runs determine the sum of its `begin` and `end`, and of `softmax` and `first`: the unit hides
usual steps, so `softmax` is that of `virgo`.

Those of D = 128 were chosen on 64x128, 64x128 with 320 keys, 192x128 with 64 keys, and 128x128 with
a causal mask, with `softmax` and `end` of D = 64, and `stall` of their counters. Blocks have half
as many queries; on `virgo_fp32` the array waits for weights of passes of 16 rows. Other cores,
or another compiler, take other cycles.
"""

from dataclasses import dataclass

__all__ = ["COMMAND", "PROGRAMS", "SCORES", "ProgramCycles"]

#: From a meeting to the first row of the product that it lets a warp command, if the unit waits for
#: it, and from the last row of scores to the poll that finds them in shared memory. Assumed, not
#: measured apart from the others.
COMMAND, SCORES = 100, 150


@dataclass(frozen=True, kw_only=True)
class ProgramCycles:
    """Cycles of the program on the cores of a preset.

    Parameters
    ----------
    begin : int
        Begin marker to the first row of the first scores.
    softmax : int
        A usual step of the cores, from meeting to meeting.
    first : int
        More in the first step of a block of queries: the guess of its maxima, code that is fetched.
    turn : int
        More in the first step of each block but the first: division and LSE of the block before,
        the advance to the next, commands and loads that are not the usual ones.
    mask : int
        More in a step with masked scores.
    end : int
        Last row of the last division to the end marker.
    stall : float
        Cycles in which the array waits for operands or weights within products, as a share of the
        rows.

    """

    begin: int
    softmax: int
    first: int
    turn: int
    mask: int
    end: int
    stall: float


#: By preset and head dimension.
PROGRAMS = {
    ("virgo", 64): ProgramCycles(
        begin=3029, softmax=1100, first=1150, turn=1970, mask=2020, end=1060, stall=0.0375
    ),
    ("virgo", 128): ProgramCycles(
        begin=3423, softmax=1100, first=1034, turn=1293, mask=1294, end=1060, stall=0.042
    ),
    ("virgo_fp32", 64): ProgramCycles(
        begin=3850, softmax=1100, first=630, turn=740, mask=1380, end=1420, stall=0.0057
    ),
    ("virgo_fp32", 128): ProgramCycles(
        begin=6288, softmax=1100, first=965, turn=1654, mask=1696, end=1060, stall=0.2
    ),
}
