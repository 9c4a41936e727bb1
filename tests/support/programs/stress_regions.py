"""Assignment of the bytes of a memory to engines and threads, closely interleaved."""

import random
from dataclasses import dataclass

import numpy as np

__all__ = ["Granules", "Place", "Territory"]

FREE, READ, WRITTEN = 0, 1, 2
#: Attempts to place a region before it is skipped.
TRIES = 24
#: Sizes of a thread's cells.
SIZES = (4, 2, 1)
#: Maximum number of a thread's cells of each size.
MOST = 3


@dataclass(frozen=True)
class Place:
    """Rows of bytes from a start address."""

    start: int
    pitch: int
    rows: int
    width: int

    @property
    def bytes(self) -> np.ndarray:
        """All its addresses."""
        rows = self.start + self.pitch * np.arange(self.rows)
        return (rows[:, None] + np.arange(self.width)).ravel()


@dataclass(frozen=True)
class Granules:
    """Cells of threads: by thread and size its own, by size those that nothing writes."""

    own: list[dict[int, list[int]]]
    constant: dict[int, list[int]]

    def beside(self, other: "Granules") -> "Granules":
        """Return these cells and those of another memory."""
        return Granules(
            [
                {size: ours[size] + theirs[size] for size in SIZES}
                for ours, theirs in zip(self.own, other.own, strict=True)
            ],
            {size: self.constant[size] + other.constant[size] for size in SIZES},
        )


class Territory:
    """Bytes from `base` on: engines claim some first, threads get the rest.

    Several may read the same bytes; a writer has exclusive access.

    Parameters
    ----------
    base : int
    size : int
    rng : Random

    """

    def __init__(self, base: int, size: int, rng: random.Random):
        self.base, self.size, self.rng = base, size, rng
        self.state = np.zeros(size, np.uint8)

    @property
    def claimed(self) -> float:
        """Share of the bytes that are assigned."""
        return float((self.state != FREE).mean())

    def claim(
        self, pitch: int, rows: int, width: int, *, writes: bool, multiple: int = 1
    ) -> Place | None:
        """Return a claimed region of rows, or None without room; `multiple` aligns its start."""
        last = self.size - (rows - 1) * pitch - width
        for _ in range(TRIES if last >= 0 else 0):
            start = self.base + self.rng.randrange(last + 1)
            place = Place(start - start % multiple, pitch, rows, width)
            if place.start >= self.base and self.take(place, writes=writes):
                return place
        return None

    def take(self, place: Place, *, writes: bool) -> bool:
        """Claim a region; return True if it was available."""
        at = place.bytes - self.base
        if (self.state[at] > (FREE if writes else READ)).any():
            return False
        self.state[at] = WRITTEN if writes else READ
        return True

    def share(self, threads: int, constant: float = 0.15) -> Granules:
        """Assign the free bytes to threads at random, in aligned words, halves and bytes."""
        own: list[dict[int, list[int]]] = [{size: [] for size in SIZES} for _ in range(threads)]
        turns: dict[int, list[int]] = {size: [] for size in SIZES}
        for word in range(0, self.size, 4):
            for at, size in self.pieces(word):
                if self.rng.random() < constant:
                    continue
                if not turns[size]:  # one for each thread before a second for any
                    turns[size] = self.rng.sample(range(threads), threads)
                own[turns[size].pop()][size].append(self.base + at)
        # Only a few, so that the next owner of a cell sees its earlier accesses.
        for places in (places for of_thread in own for places in of_thread.values()):
            self.rng.shuffle(places)
            del places[MOST:]
        self.state[self.state == FREE] = READ
        for size, places in (entry for of_thread in own for entry in of_thread.items()):
            for at in places:
                self.state[at - self.base : at - self.base + size] = WRITTEN
        constants = {size: self.constant(size) for size in SIZES}
        return Granules(own, constants)

    def pieces(self, word: int) -> list[tuple[int, int]]:
        """Return offset and size of random cells that cover the free bytes of a word."""
        free = self.state[word : word + 4] == FREE
        if free.all() and self.rng.random() < 0.5:
            return [(word, 4)]
        words: list[tuple[int, int]] = []
        for half in (0, 2):
            if free[half : half + 2].all() and self.rng.random() < 0.6:
                words.append((word + half, 2))
            else:
                words += [(word + k, 1) for k in (half, half + 1) if free[k]]
        return words

    def constant(self, size: int) -> list[int]:
        """Return aligned cells that nothing writes."""
        rows = (self.state == READ).reshape(-1, size).all(axis=1)
        return (self.base + size * np.flatnonzero(rows)).tolist()
