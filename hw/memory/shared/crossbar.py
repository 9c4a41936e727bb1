"""Routing of the requests of a port in the crossbars of a bank of shared memory."""

from collections.abc import Sequence
from typing import Any

from amaranth import *
from amaranth.utils import exact_log2

from ...lib.one_hot import one_hot

__all__ = ["route"]


def route(
    m: Module,
    port: Any,
    broadcast: Any,
    requests: Sequence,
    number: int,
    width: int,
    name: str,
    may_read: Value | None = None,
) -> None:
    """Route the requests of a port to the destinations that hold the words of a line in turn.

    Combinational.

    Parameters
    ----------
    m : Module
        Module of the crossbar.
    port : stream
        Requests by address in the bank, with `write`, `data` and `mask`.
    broadcast : interface
        Line, data and mask of the request, driven for all destinations.
    requests : sequence of RequestsSignature
        Of each destination.
    number : int
        Number of the port in each of them.
    width : int
        Bytes of a line that each destination holds.
    name : str
        Beginning of the names of signals.
    may_read : Value or None
        If given: whether reads are routed in this cycle.

    """
    access, offset_width = port.payload, exact_log2(width * len(requests))
    offset = access.address[exact_log2(width) : offset_width]
    chosen = one_hot(m, offset, len(requests), f"{name}_destination")
    m.d.comb += [
        broadcast.line.eq(access.address[offset_width:]),
        broadcast.data.eq(access.data),
        broadcast.mask.eq(access.mask),
        port.ready.eq(Cat(request.grants[number] for request in requests).any()),
    ]
    for index, request in enumerate(requests):
        here = Signal(name=f"{name}_to_{index}")
        reads = here & ~access.write if may_read is None else here & ~access.write & may_read
        m.d.comb += [
            here.eq(port.valid & chosen[index]),
            request.reads[number].eq(reads),
            request.writes[number].eq(here & access.write),
        ]
