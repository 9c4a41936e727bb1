"""Blocks of ``attention`` on tensor units fed by shared memory: warps of each core, hidden keys."""

from collections.abc import Iterator
from dataclasses import dataclass

from ....hw.config import ClusterConfig
from ....kernels.attention.hgmma.plan import TILE, HgmmaAttentionPlan
from ....kernels.attention.problem import AttentionProblem
from .seen import blocks_of, seen

__all__ = ["CoreBlock", "Round", "core_rounds"]


@dataclass(frozen=True, kw_only=True)
class CoreBlock:
    """Work of the warps of a core with a block of keys.

    Parameters
    ----------
    warps : int
        Warps that process the block.
    masked : int
        Tiles of scores with hidden keys, of the warp with most of them.

    """

    warps: int
    masked: int


@dataclass(frozen=True, kw_only=True)
class Round:
    """A tile of queries of all warps.

    Parameters
    ----------
    warps : int
        Warps with queries of the core with most of them.
    blocks : list of list of CoreBlock
        Work of each core by block of keys.

    """

    warps: int
    blocks: list[list[CoreBlock]]


def core_rounds(
    config: ClusterConfig, plan: HgmmaAttentionPlan, problem: AttentionProblem
) -> Iterator[Round]:
    """Yield the rounds of all heads."""
    rows = TILE * plan.warps * config.cores
    for _ in range(problem.problems):
        for first in range(0, problem.queries, rows):
            count = blocks_of(problem, first, rows, plan.keys)
            keys = range(0, count * plan.keys, plan.keys)
            left = -(-(problem.queries - first) // TILE)  # warps with queries, of all cores
            yield Round(
                warps=min(plan.warps, -(-left // config.cores)),
                blocks=[
                    [
                        core_block(
                            plan,
                            problem,
                            key,
                            range(first + TILE * core, first + rows, TILE * config.cores),
                        )
                        for core in range(config.cores)
                    ]
                    for key in keys
                ],
            )


def core_block(
    plan: HgmmaAttentionPlan, problem: AttentionProblem, key: int, rows: range
) -> CoreBlock:
    """Return the work of a core, whose warps have the queries from each of `rows` on."""
    warps = masked = 0
    for row in rows:
        if row >= problem.queries or (key and key >= seen(problem, row + TILE - 1)):
            continue
        warps += 1
        rest = max(0, seen(problem, row) - key)
        masked = max(masked, plan.keys // TILE - rest // TILE)
    return CoreBlock(warps=warps, masked=masked)
