"""Golden model of the writes of an L2 slice: its memory, results of atomics, and reservations."""

from collections.abc import Sequence
from dataclasses import dataclass

from .....hw.isa.operations import AtomicOperation
from .....hw.lib.axi import WORD
from .....hw.memory.l2.slice_config import L2SliceConfig
from ..atomic.atomic_unit import atomic_word
from ..atomic.reservation_table import ReservationModel

__all__ = ["AtomicRequest", "SliceMemory", "spread"]

WORD_BYTES = WORD // 8


@dataclass(frozen=True)
class AtomicRequest:
    """Operation and owner of an atomic, which is a write of one beat.

    Parameters
    ----------
    operation : AtomicOperation
    owner : int
        Owner of a reservation, unique among all sources.

    """

    operation: AtomicOperation
    owner: int


def spread(mask: int) -> int:
    """Return the bits of the bytes of a mask."""
    return sum(0xFF << 8 * n for n in range(mask.bit_length()) if mask >> n & 1)


class SliceMemory:
    """Memory behind a slice, as its writes change it one after the other.

    Parameters
    ----------
    config : L2SliceConfig
    base : int
        Address of the first byte, a multiple of a line.
    contents : bytes

    """

    def __init__(self, config: L2SliceConfig, base: int, contents: bytes):
        self.config, self.base = config, base
        self.memory = bytearray(contents)
        self.reservations = ReservationModel(config.reservation_table)

    def word_at(self, address: int) -> tuple[int, int]:
        """Return the column and line of a word in the table of reservations."""
        line_bytes = self.config.l2.line_bytes
        line = address // line_bytes // self.config.masters
        lines = self.config.reservation_table.lines
        return address % line_bytes // WORD_BYTES, line % lines

    def step(
        self,
        address: int = 0,
        beats: Sequence[tuple[int, int]] = (),
        atomic: AtomicRequest | None = None,
    ) -> int | None:
        """End a cycle, in which a burst at `address` is done if it has `beats`.

        Return the result of an atomic, None of other writes.

        Parameters
        ----------
        address : int
            Address of the first beat.
        beats : sequence of (int, int)
            Value and strobes of each beat.
        atomic : AtomicRequest or None
            Operation of an atomic.

        """
        if atomic is not None and beats[0][1]:
            return self.do_atomic(address, *beats[0], atomic)
        size, written = self.config.beat_bytes, {}
        for number, (value, strobes) in enumerate(beats):
            written |= self.write(address + number * size, value, strobes)
        self.reservations.step(None, written)
        return None

    def write(self, address: int, value: int, strobes: int) -> dict[int, int]:
        """Write bytes; return the line that is written, by column."""
        written = {}
        for byte in range(strobes.bit_length()):
            if strobes >> byte & 1:
                self.memory[address + byte - self.base] = value >> 8 * byte & 0xFF
                column, line = self.word_at(address + byte)
                written[column] = line
        return written

    def do_atomic(self, address: int, value: int, strobes: int, atomic: AtomicRequest) -> int:
        """Do an atomic on the word of the strobes; return its result."""
        place = ((strobes & -strobes).bit_length() - 1) // WORD_BYTES
        mask = strobes >> place * WORD_BYTES
        at = address + place * WORD_BYTES
        operand, expected = (value >> WORD * n & (1 << WORD) - 1 for n in (place, place ^ 1))
        old = int.from_bytes(self.memory[at - self.base :][:WORD_BYTES], "little")
        word, operation = self.word_at(at), atomic.operation
        new = atomic_word(operation, mask, old, operand, expected)
        request, result = None, old
        if operation in (AtomicOperation.LR, AtomicOperation.SC):
            request = (operation == AtomicOperation.LR, atomic.owner, word)
        if operation == AtomicOperation.SC:
            result = int(not self.reservations.holds(atomic.owner, word))
            new = None if result else new
        written = {} if new is None else self.write(at, new, mask)
        self.reservations.step(request, written)
        return result
