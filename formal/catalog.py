"""Catalog of all proofs."""

from . import (
    arbiters,
    combiners,
    prefetchers,
    queues,
    register_slices,
    scoreboards,
    slices,
    warp_scoreboards,
)
from . import cluster_barriers as synchronizers
from . import mshr_files as miss_tables
from . import mshrs as misses

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
