"""Catalog of all proofs."""

from . import (
    arbiters,
    combiners,
    miss_tables,
    misses,
    prefetchers,
    queues,
    register_slices,
    scoreboards,
    slices,
    synchronizers,
    warp_scoreboards,
)

__all__ = ["PROOFS"]

PROOFS = (
    *queues.PROOFS,
    *register_slices.PROOFS,
    *arbiters.PROOFS,
    *misses.PROOFS,
    *miss_tables.PROOFS,
    *slices.PROOFS,
    *prefetchers.PROOFS,
    *combiners.PROOFS,
    *synchronizers.PROOFS,
    *warp_scoreboards.PROOFS,
    *scoreboards.PROOFS,
)
