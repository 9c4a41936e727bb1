"""Interfaces between the parts of an L2 slice."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .layouts import L2SliceConfig, change_layout, result_layout

__all__ = [
    "AtomicOutcomeSignature",
    "DramLoadSignature",
    "InFlightSignature",
    "L2PrefetchSignature",
    "LineSignature",
    "MshrUpdateSignature",
    "OutcomeSignature",
    "SweepSignature",
    "TagUpdateSignature",
    "WritebackStateSignature",
    "outcome_layout",
    "put_layout",
]


def outcome_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the outcome of a look-up for a read that is not answered.

    The line is read from DRAM (``fetches``, and kept if ``keeps``), or the read is retried: after
    the line in flight arrives (``for_line``), after a write-back reaches DRAM (``for_back``), or
    at its turn. Data that arrived for it ``stays`` until then.
    """
    return data.StructLayout({"fetches": 1, "keeps": 1, "for_line": 1, "for_back": 1, "stays": 1})


def put_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a write-back: ``line`` if `has_line`, a reply to ``id`` if `has_reply`.

    An entry without a line only keeps the replies to an id in order.
    """
    return data.StructLayout({
        "has_line": 1,
        "has_reply": 1,
        "line": config.l2.line_width,
        "id": config.id_width,
    })


class TagUpdateSignature(wiring.Signature):
    """Result of a tag look-up and update of its set, seen from the tag stage.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    result : In(result_layout(config))
    change : Out(change_layout(config))
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({
            "result": In(result_layout(config)),
            "change": Out(change_layout(config)),
        })


class MshrUpdateSignature(wiring.Signature):
    """Update of the MSHRs after a look-up, seen from the tag stage.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    take : Out(1)
        The operation is a new read that waits, in MSHR `spare`; only with room in the cycle before.
    adopt : Out(1)
        It takes over MSHR `ahead`, whose prefetch reads its line.
    claim : Out(1)
        It is answered from MSHR `ahead`, whose prefetch has read its line.
    ahead : Out(config.mshr_width)
    settle : Out(1)
        It is a read that is taken, or that of an MSHR, with this `outcome`.
    outcome : Out(outcome_layout(config))
    free : Out(1)
        It is the read of an MSHR, and is answered.
    line_filled : Out(1)
        Its line is valid from now on.
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({
            "take": Out(1),
            "adopt": Out(1),
            "claim": Out(1),
            "ahead": Out(config.mshr_width),
            "settle": Out(1),
            "outcome": Out(outcome_layout(config)),
            "free": Out(1),
            "line_filled": Out(1),
        })


class InFlightSignature(wiring.Signature):
    """State of the reads in flight at a look-up, seen from the tag stage.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    spare : In(config.mshr_width)
        MSHR of the read if it is taken.
    passes : In(1)
        Its line is being read past the cache.
    arrived : In(1)
        If a prefetch reads its line, the line has arrived and may be claimed.
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({"spare": In(config.mshr_width), "passes": In(1), "arrived": In(1)})


class WritebackStateSignature(wiring.Signature):
    """State of the write-backs in flight at a look-up, seen from the tag stage.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    going : In(1)
        A write-back of the line looked up, or of one with the same key, is in flight.
    room : In(1)
        A write-back may begin.
    is_light : In(1)
        Fewer than `config.l2.early_write_backs` write-backs are in flight, and there is room.
    number : In(config.back_width)
        Number of the next write-back.
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({
            "going": In(1),
            "room": In(1),
            "is_light": In(1),
            "number": In(config.back_width),
        })


class OutcomeSignature(wiring.Signature):
    """Outcome of the operation that is looked up, seen from the tag stage.

    Members
    -------
    done, undone : Out(1)
        A write is done, or must be retried.
    replies : Out(1)
        The reply to the write is sent at once.
    dirties : Out(1)
        A line is written, and is dirty.
    is_whole : Out(1)
        It is written in whole, and not in flight.
    clean : Out(1)
        The walk found no dirty line in its set.
    read_miss, write_miss, write_back : Out(1)
        A new read, or a write, missed; a line is written back.
    """

    def __init__(self):
        names = ("done", "undone", "replies", "dirties", "is_whole", "clean")
        names += ("read_miss", "write_miss", "write_back")
        super().__init__({name: Out(1) for name in names})


class AtomicOutcomeSignature(wiring.Signature):
    """Outcome of an atomic that is looked up, seen from the tag stage.

    Members
    -------
    done, fails : Out(1)
        It accesses its word, or is answered with an error, as DRAM failed its line.
    """

    def __init__(self):
        super().__init__({"done": Out(1), "fails": Out(1)})


class L2PrefetchSignature(wiring.Signature):
    """Operation that is looked up, as the prefetcher observes it, seen from the tag stage.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    demand, missed : Out(1)
        A read that allocates is looked up for the first time, and misses.
    line : Out(config.l2.line_width)
    begun, finished : Out(1)
        A prefetch begins. One is filled, or a demand read adopts or claims it.
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__(
            {name: Out(1) for name in ("demand", "missed", "begun", "finished")}
            | {"line": Out(config.l2.line_width)}
        )


class SweepSignature(wiring.Signature):
    """Sweep of a table after a reset, in ascending order of its rows, seen from the table.

    Parameters
    ----------
    width : int
        Bits of a row's number.

    Members
    -------
    sweeping : Out(1)
        The sweep is in progress.
    swept : Out(width)
        Lowest row that is not cleared; rows from it on may not be read.
    """

    def __init__(self, width: int):
        super().__init__({"sweeping": Out(1), "swept": Out(width)})


class LineSignature(wiring.Signature):
    """Bytes of a line, seen from their source.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    data : Out(8 * config.l2.line_bytes)
    strobes : Out(config.l2.line_bytes)
        Bytes that are valid.
    """

    def __init__(self, config: L2SliceConfig):
        size = config.l2.line_bytes
        super().__init__({"data": Out(8 * size), "strobes": Out(size)})


class DramLoadSignature(wiring.Signature):
    """Reads of DRAM, seen from its port.

    Members
    -------
    requested, returned : Out(1)
        A read of DRAM begins; one ends.
    """

    def __init__(self):
        super().__init__({"requested": Out(1), "returned": Out(1)})
