"""Halves of blocks of ``attention`` on tensor units fed by registers: work of the warps."""

from collections.abc import Iterator
from dataclasses import dataclass

from .....kernels.attention.problem import AttentionProblem
from .....kernels.attention.register_fed.plan import CHUNK, TILE, RegisterFedAttentionPlan
from ..seen import blocks_of, seen

__all__ = ["CoreHalf", "core_halves"]


@dataclass(frozen=True, kw_only=True)
class CoreHalf:
    """Work of the warps of a core between two meetings.

    Parameters
    ----------
    scores, outputs : int
        Warps that compute scores, and powers and O.
    masked : int
        Chunks of scores with hidden keys.
    begins, ends : int
        Warps that begin a tile with their scores, and that end one with their O.
    first : bool
        Whether O of the block begins with zeros.

    """

    scores: int = 0
    outputs: int = 0
    masked: int = 0
    begins: int = 0
    ends: int = 0
    first: bool = False


@dataclass(frozen=True)
class Block:
    """A block of keys of a tile: first query and key, and whether it is the last of the tile."""

    row: int
    key: int
    is_last: bool


def core_halves(
    plan: RegisterFedAttentionPlan, problem: AttentionProblem
) -> Iterator[list[CoreHalf]]:
    """Yield for each half of the program the work of each core.

    In the first half of a block, warps with even numbers compute its scores, and those with odd
    numbers O of the block before; in the second half they change. One more half ends the last
    block.
    """
    before = None
    for block in blocks(plan, problem):
        yield half_of(plan, problem, (block, 0), (before, 1))
        yield half_of(plan, problem, (block, 1), (block, 0))
        before = block
    yield half_of(plan, problem, (None, 0), (before, 1))


def blocks(plan: RegisterFedAttentionPlan, problem: AttentionProblem) -> Iterator[Block]:
    """Yield the blocks of all heads."""
    for _ in range(problem.problems):
        for row in range(0, problem.queries, plan.rows):
            count = blocks_of(problem, row, plan.rows, plan.keys)
            for block in range(count):
                yield Block(row, block * plan.keys, block == count - 1)


def half_of(
    plan: RegisterFedAttentionPlan,
    problem: AttentionProblem,
    scores: tuple[Block | None, int],
    outputs: tuple[Block | None, int],
) -> list[CoreHalf]:
    """Return the work of each core: scores and O of a block, by the warps of a group."""
    return [core_half(plan, problem, core, scores, outputs) for core in range(plan.cores)]


def core_half(
    plan: RegisterFedAttentionPlan,
    problem: AttentionProblem,
    core: int,
    scores: tuple[Block | None, int],
    outputs: tuple[Block | None, int],
) -> CoreHalf:
    """Return the work of a core."""
    scored = masked = begins = multiplied = ends = 0
    for row in rows_of(plan, problem, core, *scores):
        block = scores[0]
        assert block is not None
        if has_block(problem, block, row):
            scored += 1
            begins += block.key == 0
            rest = max(0, seen(problem, row) - block.key)
            masked += max(0, plan.score_chunks - rest // CHUNK)
    for row in rows_of(plan, problem, core, *outputs):
        block = outputs[0]
        assert block is not None
        multiplied += has_block(problem, block, row)
        ends += block.is_last
    return CoreHalf(
        scores=scored,
        outputs=multiplied,
        masked=masked,
        begins=begins,
        ends=ends,
        first=outputs[0] is not None and outputs[0].key == 0,
    )


def rows_of(
    plan: RegisterFedAttentionPlan,
    problem: AttentionProblem,
    core: int,
    block: Block | None,
    group: int,
) -> Iterator[int]:
    """Yield the first query of each warp of a group that has queries in the tile of a block."""
    if block is None:
        return
    for warp in range(group, plan.warps, 2):
        row = block.row + TILE * (warp * plan.cores + core)
        if row < problem.queries:
            yield row


def has_block(problem: AttentionProblem, block: Block, row: int) -> bool:
    """Return whether the warp with the queries from `row` on processes a block."""
    return block.key == 0 or block.key < seen(problem, row + TILE - 1)
