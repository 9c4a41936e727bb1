"""What travels through a slice of the L2 cache."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.utils import exact_log2

from ..axi import Axi4Signature
from ..config.checks import require_integer, require_power_of_two
from ..config.l2 import L2Config

__all__ = [
    "WRITES_AHEAD",
    "L2SliceConfig",
    "access_layout",
    "chances_layout",
    "change_layout",
    "entry_layout",
    "found_layout",
    "operation_layout",
    "response_layout",
]

#: Write bursts that have come in whole and are not done. A power of two.
WRITES_AHEAD = 8


@dataclass(frozen=True, kw_only=True)
class L2SliceConfig:
    """A slice of the L2 cache at its place.

    Parameters
    ----------
    l2 : L2Config
    data_width : int
        Bits of a beat, on both sides.
    id_width : int
        Bits of an id of those who ask, the source above what is its own.
    source_width : int
        Bits of the source.
    masters : int
        Slices that share the addresses, line by line. A power of two.
    key_width : int
        Bits by which lines are told apart that are under way: of two that look alike one waits.

    """

    l2: L2Config
    data_width: int = 256
    id_width: int = 8
    source_width: int = 3
    masters: int = 2
    key_width: int = 16

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
    def slot_width(self) -> int:
        """Bits of the number of a read that waits: the ids of reads of DRAM."""
        return exact_log2(self.l2.misses)

    @property
    def ticket_width(self) -> int:
        """Bits that number the reads of an id: one more than tells apart those that wait."""
        return self.slot_width + 1

    @property
    def back_width(self) -> int:
        """Bits that number write-backs: one more than tells apart those on their way."""
        return exact_log2(self.l2.write_backs) + 1

    @property
    def way_width(self) -> int:
        """Bits of a way's number."""
        return exact_log2(self.l2.ways)

    @property
    def inner(self) -> Axi4Signature:
        """The bus of those who ask."""
        return Axi4Signature(address_width=32, data_width=self.data_width, id_width=self.id_width)

    @property
    def outer(self) -> Axi4Signature:
        """The bus to DRAM."""
        return Axi4Signature(address_width=32, data_width=self.data_width, id_width=self.slot_width)

    def set_of(self, line: Value) -> Value:
        """Return the set of a line: the bits above those that tell the slice."""
        return line[exact_log2(self.masters) :][: self.l2.set_width]

    def tag_of(self, line: Value) -> Value:
        """Return what tells a line from others of its set."""
        low = exact_log2(self.masters)
        return Cat(line[:low], line[low + self.l2.set_width :])

    def line_of(self, tag: Value, set_number: Value) -> Value:
        """Return the line of a tag and a set."""
        low = exact_log2(self.masters)
        return Cat(tag[:low], set_number, tag[low:])

    def key_of(self, line: Value) -> Value:
        """Return what stands for a line that is under way.

        Lines that are near each other differ in it: upon the low bits of their numbers are laid
        the high ones in reverse, so that a small difference of those is a large one here.
        """
        width, bits = self.key_width, line[exact_log2(self.masters) :]
        laid = [bits[n] for n in range(min(width, len(bits)))]
        for n, bit in enumerate(bits[width:]):
            place = width - 1 - n % width
            laid[place] = laid[place] ^ bit
        return Cat(laid)

    def allocates(self, identity: Value) -> Value:
        """Return whether a miss of who has this id leaves a line behind."""
        source = identity[self.id_width - self.source_width :]
        excluded = self.l2.no_allocate_sources
        return ~Cat(C(0, 1), *(source == number for number in excluded)).any()


def entry_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what is known of a line.

    ``pending``: it is being read. ``dirty``: bytes of it were written. ``full``: beats of which
    every byte is here; of the others only those that were written. ``ahead``: it is being read by
    ``slot``, and nobody wants it yet.
    """
    reads_ahead = config.l2.prefetch > 0
    return data.StructLayout({
        "tag": config.l2.tag_width,
        "valid": 1,
        "pending": 1,
        "dirty": 1,
        "full": config.beats,
        "ahead": reads_ahead,
        "slot": reads_ahead * config.slot_width,
    })


def found_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what is found of a line that is looked for.

    It is ``present`` if it is here, or on its way; ``entry`` is what is known of it, else 0. A line
    may give way if ``has_way``, that of entry ``gone``, which is dirty if ``given_up``; in a walk
    it is one that is dirty, if any of the set is ``dirty``. ``way``: where the line is, or else
    where the one is that gives way, as in a walk.
    """
    entry = entry_layout(config)
    return data.StructLayout({
        "present": 1,
        "entry": entry,
        "has_way": 1,
        "gone": entry,
        "given_up": 1,
        "dirty": 1,
        "way": config.way_width,
    })


def change_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what becomes of a line that was looked for.

    Somebody wants it (``wanted``). With ``write`` what is known at its way becomes ``entry``; with
    ``replaces`` the other line gave way to it, which is read ``ahead`` or not.
    """
    return data.StructLayout({
        "wanted": 1,
        "write": 1,
        "entry": entry_layout(config),
        "replaces": 1,
        "ahead": 1,
    })


def chances_layout(config: L2SliceConfig) -> data.ArrayLayout:
    """Layout of how often the line of each way is yet passed over (`L2Victim`)."""
    return data.ArrayLayout(2 if config.l2.prefetch else 0, config.l2.ways)


def operation_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what is looked up, one of five kinds.

    A ``read`` that is new; one of a ``slot`` that is looked up again (``retry``); a line that came
    from DRAM for one (``fill``), which is kept if ``keeps``, each beat with its response in
    ``codes``; a ``write``, number ``entry`` of those that came; or a ``walk`` over a set to write
    it back. ``beats`` are those that are wanted, or written in whole; ``ticket`` numbers the
    reads of an id.
    """
    return data.StructLayout({
        "read": 1,
        "retry": 1,
        "fill": 1,
        "write": 1,
        "walk": 1,
        "keeps": 1,
        "allocates": 1,
        "is_empty": 1,
        "line": config.l2.line_width,
        "id": config.id_width,
        "beats": config.beats,
        "codes": 2 * config.beats,
        "slot": config.slot_width,
        "ticket": config.ticket_width,
        "entry": exact_log2(WRITES_AHEAD),
    })


def access_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what is done with the bytes of a line.

    ``touches``: those at ``place`` are read, and written if ``writes`` (those of a write),
    ``fills`` (all that were not written) or ``cleans`` (they are dirty no more). ``fresh``: they
    are of another line from now on. ``pushes``: what was there goes to DRAM as write-back number
    ``back``, or what is written if ``passes``. ``responds``: the line, or else what came from
    DRAM, is the answer to ``id``, with ``codes`` for beats that are not ``full``.
    """
    return data.StructLayout({
        "touches": 1,
        "writes": 1,
        "fills": 1,
        "from_dram": 1,
        "cleans": 1,
        "fresh": 1,
        "pushes": 1,
        "passes": 1,
        "responds": 1,
        "place": config.way_width + config.l2.set_width,
        "id": config.id_width,
        "beats": config.beats,
        "full": config.beats,
        "codes": 2 * config.beats,
        "slot": config.slot_width,
        "entry": exact_log2(WRITES_AHEAD),
        "back": exact_log2(config.l2.write_backs),
    })


def response_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of the beats of a line that answer a read, and the response of each of them."""
    return data.StructLayout({
        "id": config.id_width,
        "beats": config.beats,
        "data": 8 * config.l2.line_bytes,
        "codes": 2 * config.beats,
    })
