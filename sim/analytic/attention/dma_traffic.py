"""DRAM traffic of attention in closed form: what the DMA copies, and the matrix unit stores."""

from dataclasses import dataclass

from ....kernels.attention.problem import AttentionProblem
from .levels import row_bytes
from .seen import keys_read

__all__ = ["DmaTraffic", "copied"]


@dataclass(frozen=True)
class DmaTraffic:
    """Bytes of beats that the DMA reads from DRAM, Q, and K and V together, and writes, O."""

    q: int
    kv: int
    written: int

    @property
    def read(self) -> int:
        """All bytes read."""
        return self.q + self.kv


def copied(problem: AttentionProblem, rows: int, block: int) -> int:
    """Return the bytes of K and V that the DMA copies, for `rows` queries at a time.

    Such queries read each row of K and V up to the end of the last block of `block` keys that any
    of them attends to, but at least one block.
    """
    keys = sum(keys_read(problem, first, rows, block) for first in range(0, problem.queries, rows))
    return 2 * problem.problems * keys * row_bytes(problem)
