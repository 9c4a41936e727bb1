"""Config of an L2 slice."""

from dataclasses import dataclass, field

from amaranth import *
from amaranth.utils import exact_log2

from ...config.checks import require_integer, require_power_of_two
from ...config.l2 import L2Config
from ...config.parts import OPTIONAL
from ...lib.axi import WORD, Axi4Signature
from ..atomic.reservation_table import ReservationTableConfig
from ..cache.replacement_policy import ReplacementConfig

__all__ = ["MOST_RESERVATIONS", "L2SliceConfig"]

#: Replacements that a prefetched line survives without a demand access.
CHANCES = 3
#: Reservations of a slice at a time.
MOST_RESERVATIONS = 32


@dataclass(frozen=True, kw_only=True)
class L2SliceConfig:
    """An L2 slice and its place in the cluster.

    Parameters
    ----------
    l2 : L2Config
    data_width : int
        Bits of a beat, on both sides.
    id_width : int
        Bits of an id on the requesters' side: the source above the requester's own id.
    source_width : int
        Bits of the source number.
    masters : int
        Slices that interleave the addresses line by line. A power of two.
    key_width : int
        Bits of the keys of lines in flight; of two lines with equal keys, one waits.
    owner_width : int or None
        Bits of the owner of a reservation, unique within its source; None without atomics.
    reservations : int
        Reservations at a time, with atomics.

    """

    l2: L2Config
    data_width: int = 256
    id_width: int = 8
    source_width: int = 3
    masters: int = 2
    key_width: int = 16
    owner_width: int | None = field(default=None, metadata=OPTIONAL)
    reservations: int = field(default=8, metadata=OPTIONAL)

    def __post_init__(self):
        require_power_of_two("data_width", self.data_width, 32, 1024)
        require_integer("id_width", self.id_width, 1, 16)
        require_integer("source_width", self.source_width, 0, self.id_width)
        require_power_of_two("masters", self.masters, 1, 16)
        require_integer("key_width", self.key_width, 1, 32)
        if self.l2.line_bytes < self.beat_bytes:
            raise ValueError(
                f"line_bytes must be a beat of {self.beat_bytes} bytes or more, "
                f"not {self.l2.line_bytes}"
            )
        if self.owner_width is not None:
            require_integer("owner_width", self.owner_width, 0, 16)
            require_integer("reservations", self.reservations, 1, MOST_RESERVATIONS)
            if self.data_width < 2 * WORD:
                raise ValueError(
                    f"data_width must be {2 * WORD} or more with atomics, not {self.data_width}"
                )
        for source in self.l2.no_allocate_sources:
            if source >> self.source_width:
                raise ValueError(
                    f"each of no_allocate_sources must be below {1 << self.source_width}, "
                    f"not {source}"
                )

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.data_width // 8

    @property
    def beats(self) -> int:
        """Beats of a line."""
        return self.l2.line_bytes // self.beat_bytes

    @property
    def beat_width(self) -> int:
        """Bits of a beat's number in its line."""
        return exact_log2(self.beats)

    @property
    def mshr_width(self) -> int:
        """Bits of an MSHR's number, which is the id of its DRAM read."""
        return exact_log2(self.l2.mshrs)

    @property
    def ticket_width(self) -> int:
        """Bits of a ticket, which numbers the reads of an id: one more than of an MSHR's number."""
        return self.mshr_width + 1

    @property
    def back_width(self) -> int:
        """Bits of a write-back's number: one more than distinguishes those in flight."""
        return exact_log2(self.l2.write_backs) + 1

    @property
    def way_width(self) -> int:
        """Bits of a way's number."""
        return exact_log2(self.l2.ways)

    @property
    def replacement(self) -> ReplacementConfig:
        """Config of the replacement policy."""
        return ReplacementConfig(ways=self.l2.ways, chances=CHANCES if self.l2.prefetch else 0)

    @property
    def inner(self) -> Axi4Signature:
        """AXI4 signature on the requesters' side."""
        return Axi4Signature(
            address_width=32,
            data_width=self.data_width,
            id_width=self.id_width,
            owner_width=self.owner_width,
        )

    @property
    def has_atomics(self) -> bool:
        """Whether the slice does atomics."""
        return self.owner_width is not None

    @property
    def reservation_table(self) -> ReservationTableConfig:
        """Config of the table of reservations, whose columns are the words of a line."""
        assert self.owner_width is not None
        return ReservationTableConfig(
            entries=self.reservations,
            columns=8 * self.l2.line_bytes // WORD,
            lines=1 << self.l2.line_width - exact_log2(self.masters),
            owners=1 << self.owner_width + self.source_width,
            is_one_line=True,
        )

    @property
    def outer(self) -> Axi4Signature:
        """AXI4 signature on the DRAM side."""
        return Axi4Signature(address_width=32, data_width=self.data_width, id_width=self.mshr_width)

    def set_of(self, line: Value) -> Value:
        """Return the set of a line: the bits above the slice's number."""
        return line[exact_log2(self.masters) :][: self.l2.set_width]

    def tag_of(self, line: Value) -> Value:
        """Return the tag of a line, which distinguishes it within its set."""
        low = exact_log2(self.masters)
        return Cat(line[:low], line[low + self.l2.set_width :])

    def line_of(self, tag: Value, set_number: Value) -> Value:
        """Return the line with a tag in a set."""
        low = exact_log2(self.masters)
        return Cat(tag[:low], set_number, tag[low:])

    def key_of(self, line: Value) -> Value:
        """Return the key of a line in flight, a hash of its number.

        Neighbouring lines have different keys: the high bits are folded onto the low bits in
        reverse order. A small difference in the high bits thus becomes a large one in the key.
        """
        width, bits = self.key_width, line[exact_log2(self.masters) :]
        laid = [bits[n] for n in range(min(width, len(bits)))]
        for n, bit in enumerate(bits[width:]):
            place = width - 1 - n % width
            laid[place] = laid[place] ^ bit
        return Cat(laid)

    def allocates(self, identity: Value) -> Value:
        """Return whether a miss with this id allocates a line."""
        source = identity[self.id_width - self.source_width :]
        excluded = self.l2.no_allocate_sources
        return ~Cat(C(0, 1), *(source == number for number in excluded)).any()
