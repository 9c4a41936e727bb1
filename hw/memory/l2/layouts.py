"""Config and record layouts of an L2 slice."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.utils import exact_log2

from ...config.checks import require_integer, require_power_of_two
from ...config.l2 import L2Config
from ...lib.axi import Axi4Signature
from ..cache.replacement_policy import ReplacementConfig

__all__ = [
    "WRITES_AHEAD",
    "L2SliceConfig",
    "access_layout",
    "change_layout",
    "entry_layout",
    "operation_layout",
    "response_layout",
    "result_layout",
    "store_layout",
]

#: Complete write bursts that are queued and not done. A power of two.
WRITES_AHEAD = 8
#: Replacements that a prefetched line survives without a demand access.
CHANCES = 3


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
        return Axi4Signature(address_width=32, data_width=self.data_width, id_width=self.id_width)

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


def entry_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a tag entry.

    ``pending``: the line is in flight. ``dirty``: bytes of it were written. ``full``: beats that
    are valid in whole; of other beats only written bytes are valid. ``ahead``: a prefetch in MSHR
    ``mshr`` reads the line, and no request needs it yet.
    """
    reads_ahead = config.l2.prefetch > 0
    return data.StructLayout({
        "tag": config.l2.tag_width,
        "valid": 1,
        "pending": 1,
        "dirty": 1,
        "full": config.beats,
        "ahead": reads_ahead,
        "mshr": reads_ahead * config.mshr_width,
    })


def result_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the result of a tag look-up.

    ``present``: the line is valid or in flight, with this ``entry``, else 0. ``has_way``: a
    victim exists, with the entry ``gone``; it is dirty if ``given_up``. In a walk ``gone`` is a
    line of the set that is dirty and not in flight, if there is one (``dirty``). ``way``: the
    line's way if present, else that of ``gone``, as in a walk.
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
    """Return the layout of the update of a set after a look-up.

    ``needed``: a request needs the line. ``write``: the entry of its way becomes ``entry``.
    ``replaces``: the line replaces the victim; it is a prefetch if ``ahead``.
    """
    return data.StructLayout({
        "needed": 1,
        "write": 1,
        "entry": entry_layout(config),
        "replaces": 1,
        "ahead": 1,
    })


def operation_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of an operation on the tags, one of five kinds.

    A new ``read``; a ``retry`` of the read in a ``mshr``; a ``fill`` with the line that arrived
    from DRAM for it, which is kept if ``keeps``, each beat with its response in ``codes``; a
    ``write``, number ``entry`` of those queued; or a ``walk`` over a set to write it back.
    ``beats``: those requested, or written in whole. ``ticket``: number of the read within its id.
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
        "mshr": config.mshr_width,
        "ticket": config.ticket_width,
        "entry": exact_log2(WRITES_AHEAD),
    })


def access_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of an access to the data array.

    ``touches``: the line at ``place`` is read, and written if ``writes`` (the bytes of a write),
    ``fills`` (all bytes not yet written) or ``cleans`` (no byte stays dirty). ``fresh``: the
    place belongs to another line from now on. ``pushes``: its old contents go to DRAM as
    write-back ``back``, or the written bytes if ``passes``. ``responds``: the line, or else the
    arrived data, answers ``id``, with ``codes`` for beats that are not ``full``.
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
        "mshr": config.mshr_width,
        "entry": exact_log2(WRITES_AHEAD),
        "back": exact_log2(config.l2.write_backs),
    })


def response_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the beats that answer a read, with a response code for each."""
    return data.StructLayout({
        "id": config.id_width,
        "beats": config.beats,
        "data": 8 * config.l2.line_bytes,
        "codes": 2 * config.beats,
    })


def store_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the bytes of write-back ``number``."""
    return data.StructLayout({
        "number": exact_log2(config.l2.write_backs),
        "data": 8 * config.l2.line_bytes,
        "strobes": config.l2.line_bytes,
    })
