"""What is seen of the reads of a cache by who measures how long they take."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

__all__ = ["CacheReadsSignature", "show_reads"]


class CacheReadsSignature(wiring.Signature):
    """Reads as they are asked for and answered; those of one id are answered in their order.

    Parameters
    ----------
    id_width : int
        Bits of an id; a port of it has one at least.

    Members
    -------
    valid, ready : Out(1)
        Read `id` is offered, and accepted if both are high.
    id : Out(id_width)
    answered : Out(1)
        The last that is owed to `answered_id` is handed over.
    answered_id : Out(id_width)
    """

    def __init__(self, id_width: int):
        super().__init__({
            "valid": Out(1),
            "ready": Out(1),
            "id": Out(max(1, id_width)),
            "answered": Out(1),
            "answered_id": Out(max(1, id_width)),
        })


def show_reads(m: Module, port, valid, ready, number, *, answered, answered_id) -> None:
    """Show the reads of a cache on a port of `CacheReadsSignature`."""
    m.d.comb += [
        port.valid.eq(valid),
        port.ready.eq(ready),
        port.id.eq(number),
        port.answered.eq(answered),
        port.answered_id.eq(answered_id),
    ]
