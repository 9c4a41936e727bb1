"""Record layouts of an L2 slice."""

from amaranth.lib import data
from amaranth.utils import exact_log2

from ...isa.operations import AtomicOperation
from ...lib.axi import WORD
from .slice_config import L2SliceConfig

__all__ = [
    "WRITES_AHEAD",
    "L2SliceConfig",
    "access_layout",
    "atomic_layout",
    "atomic_reply_layout",
    "change_layout",
    "entry_layout",
    "operation_layout",
    "response_layout",
    "result_layout",
    "store_layout",
]

#: Complete write bursts that are queued and not done. A power of two.
WRITES_AHEAD = 8


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


def atomic_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the operation of an atomic; a write is one if it is `valid`.

    ``owner`` is unique among all sources.
    """
    assert config.owner_width is not None
    owner_width = config.owner_width + config.source_width
    return data.StructLayout({"valid": 1, "operation": AtomicOperation, "owner": owner_width})


def atomic_reply_layout() -> data.StructLayout:
    """Return the layout of the reply to an atomic: its result, and whether DRAM failed its line."""
    return data.StructLayout({"word": WORD, "fails": 1})


def operation_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of an operation on the tags, one of five kinds.

    A new ``read``; a ``retry`` of the read in a ``mshr``; a ``fill`` with the line that arrived
    from DRAM for it, which is kept if ``keeps``, each beat with its response in ``codes``; a
    ``write``, number ``entry`` of those queued; or a ``walk`` over a set to write it back.
    ``beats``: those requested, or written in whole. ``ticket``: number of the read within its id.
    An ``atomic`` is a write that writes no beat in whole, and needs the valid beat ``needed``.
    """
    atomic = {"atomic": atomic_layout(config), "needed": config.beats} if config.has_atomics else {}
    return data.StructLayout({
        **atomic,
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
