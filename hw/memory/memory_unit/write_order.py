"""Order of the writes of a core's L1 data cache at its AXI masters."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import number_of
from ...lib.streams import Queue, ResponseSignature
from ..l1.cluster_layouts import data_mshr_config
from ..l1.data_cache_layouts import write_answer_layout, write_failed
from .line_master import LINES_WRITTEN, burst_place_layout

__all__ = ["WriteOrder"]


class WriteOrder(SharedBlock):
    """Write order: forwards the responses of all masters in the order of the writes.

    The first write of a burst waits for its response. Writes that joined the burst come later
    and reuse that response; no other burst of the same line begins before them.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    writes : In(ResponseSignature(burst_place_layout())).array(config.axi.masters)
        The write that a master accepts, at most one per cycle. There is room for all in flight.
    responses : In(stream.Signature(write_answer_layout(…))).array(config.axi.masters)
        Responses to the bursts of each master.
    o : Out(stream.Signature(write_answer_layout(…)))
        Completed writes; 1 if the write failed. With atomics, also their results.
    busy : Out(1)
        A write is in flight.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        masters, answer = config.axi.masters, write_answer_layout(data_mshr_config(config))
        super().__init__({
            "writes": In(ResponseSignature(burst_place_layout())).array(masters),
            "responses": In(stream.Signature(answer)).array(masters),
            "o": Out(stream.Signature(answer)),
            "busy": Out(1),
        })

    @property
    def layout(self) -> data.StructLayout:
        """Layout of the place of a write, and of its master."""
        master_width = max(1, exact_log2(self.config.axi.masters))
        return data.StructLayout({"master": master_width} | burst_place_layout().members)

    def build(self, platform):
        m = Module()
        m.submodules.order = order = Queue(self.layout, data_mshr_config(self.config).waiters)
        written: Any = stream.Signature(self.layout).create()
        connect(m, written, order.i)
        accepted = Cat(write.valid for write in self.writes)
        m.d.comb += [
            written.valid.eq(accepted.any()),
            written.payload.master.eq(number_of(accepted)),
            order.o.ready.eq(self.o.valid & self.o.ready),
            self.busy.eq(order.o.valid),
        ]
        for c, write in enumerate(self.writes):
            with m.If(write.valid):
                m.d.comb += [
                    written.payload.line.eq(write.payload.line),
                    written.payload.joins.eq(write.payload.joins),
                ]
            with m.If(order.o.valid & (order.o.payload.master == c)):
                self.respond(m, c, order.o.payload)
        return m

    def respond(self, m: Module, c: int, first: data.View):
        """Respond to the `first` write, which is at master `c`."""
        response, failed = self.responses[c], Signal(LINES_WRITTEN, name=f"failed_{c}")
        cache = data_mshr_config(self.config)
        error = write_failed(cache, response.payload)
        its_failure = failed.bit_select(first.line, 1)  # of the last burst of its line
        with m.If(first.joins):
            m.d.comb += [self.o.valid.eq(1), write_failed(cache, self.o.payload).eq(its_failure)]
        with m.Else():
            m.d.comb += [
                self.o.valid.eq(response.valid),
                self.o.payload.eq(response.payload),
                response.ready.eq(self.o.ready),
            ]
            with m.If(response.valid & self.o.ready):
                m.d.sync += its_failure.eq(error)
