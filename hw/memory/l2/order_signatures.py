"""Interfaces of the order of reads and replies within an id, in an L2 slice."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .layouts import L2SliceConfig

__all__ = ["MshrOrderSignature", "OrderSignature", "WritebackNumbersSignature"]


class OrderSignature(wiring.Signature):
    """State of the id of the operation that is looked up, seen from the tag stage.

    Members
    -------
    is_ordered : In(1)
        No read of its id waits.
    follows : In(1)
        It is a demand read, and one of its id is before it.
    reply_pending : In(1)
        A reply to its id is pending.
    promise : Out(1)
        A reply to it is pending from now on, with the next write-back.
    """

    def __init__(self):
        super().__init__({
            "is_ordered": In(1),
            "follows": In(1),
            "reply_pending": In(1),
            "promise": Out(1),
        })


class MshrOrderSignature(wiring.Signature):
    """Order of the reads in MSHRs within their id, seen from the MSHR file.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    take : Out(1)
        The read that is looked up waits from now on, in MSHR `mshr`.
    mshr : Out(config.mshr_width)
    free : Out(1)
        It waited, and is answered.
    ticket : In(config.ticket_width)
        Its ticket if it waits.
    youngest : In(config.mshr_width)
        MSHR of the last read of its id that waits.
    is_oldest : In(1)
        No demand read of its id is before it.
    leads : In(1)
        A demand read of its id is after it.
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({
            "take": Out(1),
            "mshr": Out(config.mshr_width),
            "free": Out(1),
            "ticket": In(config.ticket_width),
            "youngest": In(config.mshr_width),
            "is_oldest": In(1),
            "leads": In(1),
        })


class WritebackNumbersSignature(wiring.Signature):
    """Numbers of write-backs, seen from their buffer.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    following, oldest : Out(config.back_width)
        Number of the next write-back, and of the oldest in flight.
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({"following": Out(config.back_width), "oldest": Out(config.back_width)})
