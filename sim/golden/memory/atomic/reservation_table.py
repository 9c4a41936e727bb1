"""Golden model of a table of reservations, cycle by cycle."""

from collections.abc import Mapping

from .....hw.memory.atomic.reservation_table import LIFETIME, ReservationTableConfig

__all__ = ["ReservationModel"]


class ReservationModel:
    """Reservations by thread: the word, and the cycle of the load-reserved.

    A word is a pair of column and line.
    """

    def __init__(self, config: ReservationTableConfig):
        self.config = config
        self.reserved: dict[int, tuple[tuple[int, int], int]] = {}
        self.cycle = 0

    def holds(self, owner: int, word: tuple[int, int]) -> bool:
        """Return whether a thread has reserved a word."""
        return owner in self.reserved and self.reserved[owner][0] == word

    def step(
        self, request: tuple[bool, int, tuple[int, int]] | None, writes: Mapping[int, int]
    ) -> None:
        """End a cycle.

        Parameters
        ----------
        request : (bool, int, (int, int)) or None
            Whether it is a load-reserved, its thread, and its word.
        writes : mapping of int to int
            Line that is written, by column.

        """
        before = dict(self.reserved)
        self.reserved = {
            owner: (word, since)
            for owner, (word, since) in before.items()
            if writes.get(word[0]) != word[1] and self.cycle < since + LIFETIME
        }
        if request is not None:
            reserves, owner, word = request
            self.reserved.pop(owner, None)
            has_room = owner in before or len(before) < self.config.entries
            if reserves and has_room and writes.get(word[0]) != word[1]:
                self.reserved[owner] = (word, self.cycle)
        self.cycle += 1
