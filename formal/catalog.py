"""Catalog of all proofs."""

from . import (
    arbiters,
    cluster_barriers,
    combiners,
    l1_mshr_files,
    l1_mshrs,
    phase_waits,
    prefetchers,
    queues,
    register_slices,
    row_arbiters,
    scoreboards,
    slices,
    wait_tables,
    warp_scoreboards,
)

__all__ = ["PROOFS"]

PROOFS = (
    *queues.PROOFS,
    *register_slices.PROOFS,
    *arbiters.PROOFS,
    *row_arbiters.PROOFS,
    *l1_mshrs.PROOFS,
    *l1_mshr_files.PROOFS,
    *slices.PROOFS,
    *prefetchers.PROOFS,
    *combiners.PROOFS,
    *cluster_barriers.PROOFS,
    *wait_tables.PROOFS,
    *phase_waits.PROOFS,
    *warp_scoreboards.PROOFS,
    *scoreboards.PROOFS,
)
