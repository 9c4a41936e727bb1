"""Fetch state of one warp: its next address and its outstanding requests."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import ENTRY
from ...lib.interfaces.core_memory import fetch_tag_layout, pairs, warp_shape
from ...lib.streams import ResponseSignature
from ..front_end_layouts import position_width, redirect_layout

__all__ = ["WarpFetch"]


class WarpFetch(SharedBlock):
    """Fetch state of one warp: requests its instructions in pairs, in order.

    A pair is requested while there is room for it besides the pairs buffered and in flight. After
    a redirect, pairs still in flight are dropped on arrival. Each is identified by its slot in the
    buffer, which is not requested again until the pair has arrived. After reset the warp starts at
    `ENTRY`.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    number : In(warp_shape(config))
        Index of the warp, a constant.
    active : In(1)
        Enables requests.
    redirect : In(ResponseSignature(redirect_layout(config)))
        Of any warp; this one continues at ``pc``. A pair granted in this cycle is dropped on
        arrival.
    position : In(position_width(config))
        Lowest bits of the word address of the next instruction to take.
    request : Out(1)
        Requests the pair at `address`.
    urgent : Out(1)
        Requests it, and nothing of the warp is buffered or in flight.
    address : Out(29)
        In pairs.
    granted : In(1)
        The pair is requested; only with `request`.
    arrival : In(ResponseSignature(fetch_tag_layout(config)))
        An outstanding pair of any warp arrives.
    fresh : Out(1)
        The arriving pair is of this warp, and still valid.
    busy : Out(1)
        A request is outstanding.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "number": In(warp_shape(config)),
            "active": In(1),
            "redirect": In(ResponseSignature(redirect_layout(config))),
            "position": In(position_width(config)),
            "request": Out(1),
            "urgent": Out(1),
            "address": Out(29),
            "granted": In(1),
            "arrival": In(ResponseSignature(fetch_tag_layout(config))),
            "fresh": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = pairs(self.config)
        pc = Signal(29, init=ENTRY >> 3)
        pending = Signal(count)  # outstanding, by slot in the buffer
        stale = Signal(count)  # of these, the pairs requested before the last redirect
        pending_next = Signal(count)
        # Words buffered or in flight, plus one. If the warp starts at an odd word, the first
        # request begins one word before the head: the number of words is -1.
        level = Signal(position_width(self.config))

        place = Cat((pc & (count - 1)) == n for n in range(count))
        tag = self.arrival.payload
        arrives = self.arrival.valid & (tag.warp == self.number)
        coming = Cat(arrives & (tag.pair == n) for n in range(count))
        redirects = self.redirect.valid & (self.redirect.payload.warp == self.number)
        m.d.comb += [
            level.eq(Cat(Const(1, 1), pc) - self.position),
            self.address.eq(pc),
            self.request.eq(
                self.active & (level < self.config.instruction_buffer) & ~(pending & place).any()
            ),
            self.urgent.eq(self.request & (level <= 1)),
            pending_next.eq((pending | (place & self.granted.replicate(count))) & ~coming),
            self.fresh.eq((coming & ~stale).any()),
            self.busy.eq(pending.any()),
        ]
        m.d.sync += [
            pending.eq(pending_next),
            stale.eq(Mux(redirects, pending_next, stale & pending_next)),
        ]
        with m.If(redirects):
            m.d.sync += pc.eq(self.redirect.payload.pc[3:])
        with m.Elif(self.granted):
            m.d.sync += pc.eq(pc + 1)
        return m
