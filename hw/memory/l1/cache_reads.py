"""Monitor of a cache's reads, for latency measurement."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

__all__ = ["CacheReadsSignature", "probe_reads"]


class CacheReadsSignature(wiring.Signature):
    """Monitor of reads as they are requested and answered, in order within one id.

    Parameters
    ----------
    id_width : int
        Bits of an id. Its ports have at least one bit.

    Members
    -------
    valid, ready : Out(1)
        Read `id` is offered; it is accepted if both are high.
    id : Out(id_width)
    answered : Out(1)
        The last beat of a response to `answered_id` is accepted.
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


def probe_reads(
    m: Module,
    port: Any,
    valid: Value,
    ready: Value,
    number: Value,
    *,
    answered: Value,
    answered_id: Value,
) -> None:
    """Drive a `CacheReadsSignature` monitor with the reads of a cache."""
    m.d.comb += [
        port.valid.eq(valid),
        port.ready.eq(ready),
        port.id.eq(number),
        port.answered.eq(answered),
        port.answered_id.eq(answered_id),
    ]
