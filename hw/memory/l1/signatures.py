"""Interfaces between the parts of an L1 cache: tags, data, MSHRs and refills."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import CacheConfig
from .mshr_config import MshrConfig

__all__ = [
    "ConflictSignature",
    "ForwardSignature",
    "LookupSignature",
    "MissSignature",
    "RefillSignature",
    "ReplaySignature",
    "WordSignature",
    "allocation_layout",
    "data_read_layout",
    "data_write_layout",
    "fill_layout",
    "line_beat_layout",
    "line_read_layout",
    "replay_layout",
    "tag_write_layout",
]


def tag_write_layout(config: CacheConfig) -> data.StructLayout:
    """Return the layout of a write to the tag array: the tag of ``ways`` of a set.

    ``is_valid``: the way holds a valid line from now on.
    """
    return data.StructLayout({
        "ways": config.ways,
        "set": config.set_width,
        "tag": config.tag_width,
        "is_valid": 1,
    })


def data_read_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of a read of the data array: a word of several ways of a set.

    ``place`` is the word's number in its line.
    """
    return data.StructLayout({
        "ways": config.cache.ways,
        "set": config.cache.set_width,
        "place": config.place_width,
    })


def data_write_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of a write to the data array: a beat, or its bytes in ``strobes``."""
    return data.StructLayout({
        "ways": config.cache.ways,
        "set": config.cache.set_width,
        "beat": exact_log2(config.beats),
        "data": 8 * config.beat_bytes,
        "strobes": config.strobe_width,
    })


def allocation_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of the allocation of MSHR ``entry`` to a line that is to be read."""
    return data.StructLayout({"entry": config.entry_width, "line": config.cache.line_width})


def line_read_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of a read of a line, with its first beat; each beat returns its id."""
    return data.StructLayout({
        "id": config.entry_width,
        "beat": 32 - exact_log2(config.beat_bytes),
    })


def line_beat_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of the next beat of a line, or of its error."""
    return data.StructLayout({
        "id": config.entry_width,
        "data": 8 * config.beat_bytes,
        "error": 1,
    })


def fill_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of the destination of a line's next beat, and the state of the line.

    ``fails``: an earlier beat could not be read. ``forgotten``: the line is not to be kept.
    """
    return data.StructLayout({
        "line": config.cache.line_width,
        "way": config.cache.ways,
        "beat": exact_log2(config.beats),
        "fails": 1,
        "forgotten": 1,
    })


def replay_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of a replay: a waiting request that can be answered, and its word.

    ``place``: the word's number in its line. ``error``: the word could not be read.
    """
    return data.StructLayout({
        "waiter": config.waiter_width,
        "set": config.cache.set_width,
        "way": config.cache.ways,
        "place": config.place_width,
        "error": 1,
    })


class LookupSignature(wiring.Signature):
    """Comparison of a tag with those of the set that was read, seen from the lookup stage.

    Parameters
    ----------
    config : CacheConfig

    Members
    -------
    tag : Out(config.tag_width)
    hits : In(config.ways)
        Ways whose tag matches: combinational, one-hot or 0.
    valids : In(config.ways)
        Ways that hold a valid line.
    """

    def __init__(self, config: CacheConfig):
        super().__init__({
            "tag": Out(config.tag_width),
            "hits": In(config.ways),
            "valids": In(config.ways),
        })


class WordSignature(wiring.Signature):
    """Selection among the words that were read, seen from the stage that answers with one.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    way : Out(config.cache.ways)
        One-hot: the way whose word is returned, one of those read.
    word : In(8 * config.word_bytes)
        Combinational from `way`.
    """

    def __init__(self, config: MshrConfig):
        super().__init__({"way": Out(config.cache.ways), "word": In(8 * config.word_bytes)})


class MissSignature(wiring.Signature):
    """Lookup of a line in the MSHRs, seen from the lookup stage.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    valid : Out(1)
        `line` is looked up.
    present : Out(1)
        The cache holds the line.
    valids : Out(config.cache.ways)
        Ways of its set that hold a valid line.
    line : Out(config.cache.line_width)
    is_demand : Out(1)
        Request `waiter` needs word `place` of the line; otherwise it is a prefetch.
    waiter : Out(config.waiter_width)
        A number waits at most once at a time.
    place : Out(config.place_width)
    joins, begins : In(1)
        The request waits for a line in flight; a read of the line begins.
    first_use : In(1)
        The line was prefetched, and is requested for the first time.
    """

    def __init__(self, config: MshrConfig):
        super().__init__({
            "valid": Out(1),
            "present": Out(1),
            "valids": Out(config.cache.ways),
            "line": Out(config.cache.line_width),
            "is_demand": Out(1),
            "waiter": Out(config.waiter_width),
            "place": Out(config.place_width),
            "joins": In(1),
            "begins": In(1),
            "first_use": In(1),
        })


class RefillSignature(wiring.Signature):
    """Arrival of the next beat of a line in flight, seen from the fill stage.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    valid : Out(1)
        The next beat for MSHR `entry` arrives, with an error if `error`.
    entry : Out(config.entry_width)
    error : Out(1)
    destination : In(fill_layout(config))
        Destination of that beat, combinational from `entry`.
    """

    def __init__(self, config: MshrConfig):
        super().__init__({
            "valid": Out(1),
            "entry": Out(config.entry_width),
            "error": Out(1),
            "destination": In(fill_layout(config)),
        })


class ReplaySignature(wiring.Signature):
    """Replay of a request whose line is complete, seen from the MSHRs.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    valid : Out(1)
        A request is replayed in this cycle.
    payload : Out(replay_layout(config))
    pause : In(1)
        No request can be answered in this cycle.
    """

    def __init__(self, config: MshrConfig):
        super().__init__({"valid": Out(1), "payload": Out(replay_layout(config)), "pause": In(1)})


class ForwardSignature(wiring.Signature):
    """Forwarding of an arriving beat to a request that waits for it, seen from the MSHRs.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    allows : In(1)
        The arriving beat may be forwarded.
    valid : Out(1)
        Request `waiter` is answered with the beat that arrives in this cycle.
    waiter : Out(config.waiter_width)
    """

    def __init__(self, config: MshrConfig):
        super().__init__({"allows": In(1), "valid": Out(1), "waiter": Out(config.waiter_width)})


class ConflictSignature(wiring.Signature):
    """Search for a line among those in flight, seen from the searcher.

    Parameters
    ----------
    config : CacheConfig

    Members
    -------
    line : Out(config.line_width)
    conflict : In(1)
        Combinational: the line is in flight.
    """

    def __init__(self, config: CacheConfig):
        super().__init__({"line": Out(config.line_width), "conflict": In(1)})
