"""Instruction fetch: requests pairs of instructions for all warps in round-robin order."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.arbiter import round_robin
from ...lib.interfaces.core_memory import (
    fetch_request_layout,
    fetch_response_layout,
    fetch_tag_layout,
)
from ...lib.one_hot import select
from ...lib.streams import ResponseSignature
from ..front_end_layouts import position_width, redirect_layout
from .warp_fetch import WarpFetch

__all__ = ["Fetch"]


class Fetch(SharedBlock):
    """Instruction fetch: requests pairs ahead of use, and drops responses made stale by redirects.

    One pair per cycle: warps without a pair go first, else round-robin. A warp is requested again
    in the cycle after its redirect. Its instructions buffered and in flight never exceed the
    capacity of its buffer. Responses may arrive in any order, from the cycle after the request on.
    They pass in the same cycle and cannot stall.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    request : Out(stream.Signature(fetch_request_layout(config)))
        No two outstanding requests have the same tag.
    response : In(ResponseSignature(fetch_response_layout(config)))
    redirect : In(ResponseSignature(redirect_layout(config)))
        Redirects the warp to this pc. Bits 1:0 are ignored.
    active : In(warps)
        Warps to fetch for.
    positions : In(position_width(config)).array(warps)
        Lowest bits of the word address of each warp's next instruction to take.
    fresh : Out(1)
        The response of this cycle must be pushed.
    busy : Out(1)
        A request is offered or outstanding.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "request": Out(stream.Signature(fetch_request_layout(config))),
            "response": In(ResponseSignature(fetch_response_layout(config))),
            "redirect": In(ResponseSignature(redirect_layout(config))),
            "active": In(config.warps),
            "positions": In(position_width(config)).array(config.warps),
            "fresh": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        warps = self.config.warps
        fetches = [WarpFetch(self.config) for _ in range(warps)]
        chosen = Signal(fetch_request_layout(self.config))
        requests, urgent, fresh, pending = (
            Cat(getattr(fetch, name) for fetch in fetches)
            for name in ("request", "urgent", "fresh", "busy")
        )
        candidates, accepts = Signal(warps), Signal()
        grant = round_robin(m, candidates, accepts)
        arrival: Any = ResponseSignature(fetch_tag_layout(self.config)).create(path=("arrival",))
        waits = Signal()  # a request is stalled by memory
        m.d.comb += [
            candidates.eq(Mux(urgent.any(), urgent, requests)),
            accepts.eq(requests.any() & ~waits),
            chosen.address[3:].eq(select(grant, [fetch.address for fetch in fetches])),
            chosen.tag.warp.eq(select(grant, [Const(w, warps.bit_length()) for w in range(warps)])),
            chosen.tag.pair.eq(chosen.address[3:]),
            arrival.valid.eq(self.response.valid),
            arrival.payload.eq(self.response.payload.tag),
            self.fresh.eq(fresh.any()),
            self.busy.eq(requests.any() | waits | pending.any()),
        ]
        for warp, fetch in enumerate(fetches):
            m.submodules[f"warp_{warp}"] = fetch
            connect(m, flipped(self.redirect), fetch.redirect)
            connect(m, arrival, fetch.arrival)
            m.d.comb += [
                fetch.number.eq(warp),
                fetch.active.eq(self.active[warp]),
                fetch.position.eq(self.positions[warp]),
                fetch.granted.eq(grant[warp] & ~waits),
            ]
        self.offer(m, chosen, requests.any(), waits)
        return m

    def offer(self, m: Module, chosen: data.View, any_chosen: Value, waits: Signal):
        """Offer the selected request, and hold it while memory stalls.

        The next selection may differ; an offered request must not change.
        """
        held = Signal.like(chosen, reset_less=True)
        m.d.comb += [
            self.request.valid.eq(waits | any_chosen),
            self.request.payload.eq(Mux(waits, held, chosen)),
        ]
        m.d.sync += waits.eq(self.request.valid & ~self.request.ready)
        with m.If(~waits):
            m.d.sync += held.eq(chosen)
