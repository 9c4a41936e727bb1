"""Patterns of a request of eight lanes at shared memory, and the cycles that each takes."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

__all__ = ["PATTERNS", "PORTS", "Pattern"]

LANES = 8
#: Narrow ports of a core for which cycles are stated.
PORTS = (2, 8)


@dataclass(frozen=True)
class Pattern:
    """Requests of one kind.

    Parameters
    ----------
    name : str
    is_row : bool
        Whether the row port serves them.
    cycles : tuple of int
        Cycles with each of `PORTS`.

    """

    name: str
    is_row: bool
    cycles: tuple[int, ...]

    def words(self, rng: random.Random) -> Iterator[list[int]]:
        """Yield the words that lanes 0 to 7 access, in order or at random."""
        first = LANES * rng.randrange(32)
        consecutive = [first + n for n in range(LANES)]
        match self.name:
            case "consecutive words from a row's start":
                yield consecutive
            case "every permutation of a row":
                yield from ([*map(first.__add__, order)] for order in permutations(range(LANES)))
            case "any words of one row":
                while True:
                    yield rng.choices(consecutive, k=LANES)
            case "one word for all lanes":
                while True:
                    yield [rng.choice(consecutive)] * LANES
            case "consecutive words from elsewhere":
                yield from ([first + shift + n for n in range(LANES)] for shift in range(1, LANES))
            case name:
                stride = int(name.rpartition(" ")[2])
                yield [first + stride * n for n in range(LANES)]


PATTERNS = (
    Pattern("consecutive words from a row's start", True, (1, 1)),
    Pattern("every permutation of a row", True, (1, 1)),
    Pattern("any words of one row", True, (1, 1)),
    Pattern("one word for all lanes", True, (1, 1)),
    Pattern("consecutive words from elsewhere", False, (4, 1)),
    Pattern("words at a stride of 2", False, (4, 2)),
    Pattern("words at a stride of 3", False, (4, 1)),
    Pattern("words at a stride of 4", False, (4, 4)),
    Pattern("words at a stride of 8", False, (8, 8)),
)
