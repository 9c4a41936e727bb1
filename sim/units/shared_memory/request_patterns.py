"""Patterns of a request of eight lanes at shared memory, and the cycles that each takes."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, permutations

from ....hw.config import PRESETS, WORD_BYTES, ClusterConfig, CoreConfig, SharedMemoryConfig
from .request_path import CoreRequest

__all__ = ["PATTERNS", "PORTS", "Pattern", "one_core", "requests_of"]

LANES = 8
ROW = WORD_BYTES * LANES
#: Narrow ports of a core for which cycles are stated.
PORTS = (2, 8)
#: Strides in words at which all lanes fit in memory.
STRIDES = range(32)


def one_core(ports: int, subbanks: int = 8) -> ClusterConfig:
    """Return a small machine with one core of eight lanes."""
    return replace(
        PRESETS["core"],
        core=CoreConfig(shared_ports=ports),
        shared=SharedMemoryConfig(size=4096, banks=2, subbanks=subbanks),
    )


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


def requests_of(pattern: Pattern, rng: random.Random, count: int) -> list[CoreRequest]:
    """Return at most `count` loads of a pattern, or stores of words, half-words and bytes."""
    found = []
    for words in islice(pattern.words(rng), count):
        sizes = [rng.choice([1, 2, 4, 4]) for _ in words]
        offsets = [rng.randrange(0, WORD_BYTES, size) for size in sizes]
        strobes = [((1 << size) - 1) << at for size, at in zip(sizes, offsets, strict=True)]
        data = [rng.getrandbits(32) for _ in words]
        addresses = [WORD_BYTES * word + at for word, at in zip(words, offsets, strict=True)]
        found.append(CoreRequest(addresses, rng.random() < 0.5, data, strobes))
    return found
