"""Keys that a query of ``attention`` attends to, as programs compute them, and blocks of keys."""

from ....kernels.attention.problem import AttentionProblem

__all__ = ["blocks_of", "keys_read", "seen"]


def seen(problem: AttentionProblem, row: int) -> int:
    """Return the keys that the query of a row attends to."""
    if not problem.causal:
        return problem.keys
    return max(0, min(problem.keys, row + 1 + problem.keys - problem.queries))


def blocks_of(problem: AttentionProblem, first: int, rows: int, keys: int) -> int:
    """Return the blocks of keys of the tile of `rows` queries from `first` on, at least one."""
    last = min(first + rows, problem.queries) - 1
    return max(1, -(-seen(problem, last) // keys))


def keys_read(problem: AttentionProblem, first: int, rows: int, keys: int) -> int:
    """Return the keys of these blocks, the last of which may have fewer."""
    return min(blocks_of(problem, first, rows, keys) * keys, problem.keys)
