"""Catalog of all proofs."""

from . import (
    arbiters,
    cluster_barriers,
    combiners,
    mshr_files,
    mshrs,
    prefetchers,
    queues,
    register_slices,
    scoreboards,
    slices,
    warp_scoreboards,
)

__all__ = ["PROOFS"]

PROOFS = (
    *queues.PROOFS,
    *register_slices.PROOFS,
    *arbiters.PROOFS,
    *mshrs.PROOFS,
    *mshr_files.PROOFS,
    *slices.PROOFS,
    *prefetchers.PROOFS,
    *combiners.PROOFS,
    *cluster_barriers.PROOFS,
    *warp_scoreboards.PROOFS,
    *scoreboards.PROOFS,
)
