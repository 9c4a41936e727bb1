"""Interfaces between the stages of the L1 data cache."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..data_cache_layouts import DataCacheConfig, beat_read_layout, beat_write_layout

__all__ = [
    "ArrivalSignature",
    "BeatRequestSignature",
    "LookupStateSignature",
    "hit_layout",
    "waiter_layout",
]


def waiter_layout(config: DataCacheConfig) -> data.StructLayout:
    """Return the layout of a read that waits for its line: its id and its context."""
    return data.StructLayout({"id": config.waiter_width, "context": config.context_width})


def hit_layout(config: DataCacheConfig) -> data.StructLayout:
    """Return the layout of a read that hits, and the way that holds its line."""
    return data.StructLayout({
        "id": config.waiter_width,
        "context": config.context_width,
        "way": config.cache.ways,
    })


class BeatRequestSignature(wiring.Signature):
    """Accepted request, seen from the arbiter.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    reads, writes : Out(1)
        Read `read` of a beat is accepted, or write `write`. Never both.
    read : Out(beat_read_layout(config))
    write : Out(beat_write_layout(config))
    """

    def __init__(self, config: DataCacheConfig):
        super().__init__({
            "reads": Out(1),
            "writes": Out(1),
            "read": Out(beat_read_layout(config)),
            "write": Out(beat_write_layout(config)),
        })


class LookupStateSignature(wiring.Signature):
    """State of the lookup stage, seen from it.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    is_free : Out(1)
        The stage is empty, or its request leaves in this cycle.
    misses : Out(1)
        It holds a read that the cache does not hold.
    is_write : Out(1)
        It holds a write, in its only cycle.
    is_atomic : Out(1)
        With atomics: likewise an atomic, which writes the tags.
    is_new : Out(1)
        The request of the last cycle was a read.
    stalls : Out(1)
        It holds a read that was accepted earlier.
    beat : Out(beat_read_layout(config)["beat"].shape)
    """

    def __init__(self, config: DataCacheConfig):
        atomic = {"is_atomic": Out(1)} if config.has_atomics else {}
        super().__init__({
            **atomic,
            "is_free": Out(1),
            "misses": Out(1),
            "is_write": Out(1),
            "is_new": Out(1),
            "stalls": Out(1),
            "beat": Out(beat_read_layout(config)["beat"].shape),
        })


class ArrivalSignature(wiring.Signature):
    """Beat that arrives from memory and competes with requests, seen from the fill stage.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    valid : Out(1)
        A beat of a line of `set` arrives.
    set : Out(config.cache.set_width)
    must_fill : Out(1)
        It has been refused as often as allowed: requests stall.
    yields : In(1)
        A read of its set is accepted first.
    """

    def __init__(self, config: DataCacheConfig):
        super().__init__({
            "valid": Out(1),
            "set": Out(config.cache.set_width),
            "must_fill": Out(1),
            "yields": In(1),
        })
