"""All proofs."""

from . import (
    arbiters,
    miss_tables,
    misses,
    queues,
    scoreboards,
    slices,
    synchronizers,
    warp_scoreboards,
)

__all__ = ["PROOFS"]

PROOFS = (
    *queues.PROOFS,
    *arbiters.PROOFS,
    *misses.PROOFS,
    *miss_tables.PROOFS,
    *slices.PROOFS,
    *synchronizers.PROOFS,
    *warp_scoreboards.PROOFS,
    *scoreboards.PROOFS,
)
