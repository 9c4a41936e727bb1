"""AXI master of a core's L1 caches."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.axi import Axi4Signature, channel, whole_beats
from ...lib.merge import Merge
from ...lib.streams import Queue, ResponseSignature
from ...lib.write_combiner import WriteCombiner, WriteCombinerConfig
from ..l1.cluster_layouts import data_mshr_config, instruction_mshr_config, read_layout
from ..l1.data_cache_layouts import beat_write_layout, write_answer_layout
from ..l1.signatures import line_beat_layout

__all__ = ["LINES_WRITTEN", "PATIENCE", "LineMaster", "burst_place_layout", "combiner_config"]

#: Lines at a master's write combiner, and its patience (see `WriteCombiner`). Warps that store
#: rows in turn thus fill whole lines.
LINES_WRITTEN, PATIENCE = 8, 8
#: Caches that read lines, in the order of `LineMaster.reads`.
SIDES = ("instructions", "data")


def burst_place_layout() -> data.StructLayout:
    """Return the layout of the place of a write: line of a master, and whether it joined one."""
    return data.StructLayout({"line": exact_log2(LINES_WRITTEN), "joins": 1})


def combiner_config(config: MemoryUnitConfig) -> WriteCombinerConfig:
    """Return the config of a master's write combiner; no burst crosses an interleave block."""
    axi = config.axi
    return WriteCombinerConfig(
        lines=LINES_WRITTEN,
        line_beats=axi.interleave_bytes // axi.beat_bytes,
        beat_bytes=axi.beat_bytes,
        patience=PATIENCE,
        owner_width=data_mshr_config(config).owner_width,
    )


class LineMaster(SharedBlock):
    """AXI master: reads lines of both caches, and writes beats combined to bursts.

    The highest bit of an id distinguishes data from instructions. Write responses are queued, so
    that they are always accepted.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    reads : In(stream.Signature(read_layout(config))).array(2)
        Of the instruction cache and of the data cache.
    fetch_line : Out(stream.Signature(line_beat_layout(…)))
        Beats for the instruction cache.
    line : Out(stream.Signature(line_beat_layout(…)))
        Beats for the data cache.
    write : In(stream.Signature(beat_write_layout(…)))
    accepted : Out(ResponseSignature(burst_place_layout()))
        Place of the write that is accepted.
    written : Out(stream.Signature(write_answer_layout(…)))
        Responses to bursts, in order; 1 if one failed. With atomics, also their results.
    axi : Out(Axi4Signature)
    busy : Out(1)
        Combinational: a request waits here, or a response arrives.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        data_config = data_mshr_config(config)
        fetch_beat = line_beat_layout(instruction_mshr_config(config))
        bus = Axi4Signature(
            address_width=32,
            data_width=config.axi.data_width,
            id_width=config.core.id_width,
            owner_width=data_config.owner_width,
        )
        super().__init__({
            "reads": In(stream.Signature(read_layout(config))).array(len(SIDES)),
            "fetch_line": Out(stream.Signature(fetch_beat)),
            "line": Out(stream.Signature(line_beat_layout(data_config))),
            "write": In(stream.Signature(beat_write_layout(data_config))),
            "accepted": Out(ResponseSignature(burst_place_layout())),
            "written": Out(stream.Signature(write_answer_layout(data_config))),
            "axi": Out(bus),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        m.submodules.reads = reads = Merge(read_layout(self.config), len(SIDES))
        m.submodules.combiner = combiner = WriteCombiner(combiner_config(self.config))
        data_config = data_mshr_config(self.config)
        answer_layout = write_answer_layout(data_config)
        m.submodules.responses = responses = Queue(answer_layout, data_config.waiters)
        for port, merged in zip(self.reads, reads.i, strict=True):
            connect(m, flipped(port), merged)
        connect(m, flipped(self.write), combiner.i)
        connect(m, responses.o, flipped(self.written))
        self.request_lines(m, reads.o)
        self.send_bursts(m, combiner.burst, combiner.beat)
        self.return_beats(m)
        axi, response = self.axi, [responses.i.payload.eq(self.axi.bresp[1])]
        if data_config.has_atomics:
            m.d.comb += axi.awuser.eq(combiner.burst.payload.user)
            answer = responses.i.payload
            response = [answer.error.eq(axi.bresp[1]), answer.word.eq(axi.buser)]
        m.d.comb += [
            self.accepted.valid.eq(self.write.valid & self.write.ready),
            self.accepted.payload.line.eq(combiner.line),
            self.accepted.payload.joins.eq(combiner.joins),
            responses.i.valid.eq(axi.bvalid),
            *response,
            axi.bready.eq(responses.i.ready),
            self.busy.eq(axi.arvalid | combiner.busy | axi.rvalid | axi.bvalid),
        ]
        return m

    def burst(self, letter: str, beat: Value) -> list:
        """Return the assignments of an address channel, except of its length."""
        address = Cat(C(0, exact_log2(self.config.axi.beat_bytes)), beat)
        return [channel(self.axi, letter).addr.eq(address), *whole_beats(self.axi, letter)]

    def request_lines(self, m: Module, read: stream.Interface):
        """Drive the read address channel: a burst for each line."""
        axi, request = self.axi, read.payload.payload
        is_data = read.payload.source
        fetch_config, data_config = (
            config(self.config) for config in (instruction_mshr_config, data_mshr_config)
        )
        m.d.comb += [
            axi.arid.eq(Cat(request.id, is_data)),
            axi.arvalid.eq(read.valid),
            read.ready.eq(axi.arready),
            *self.burst("ar", request.beat),
            axi.arlen.eq(Mux(is_data, data_config.beats - 1, fetch_config.beats - 1)),
        ]

    def send_bursts(self, m: Module, burst: stream.Interface, beat: stream.Interface):
        """Drive the write channels; address and data move independently."""
        axi = self.axi
        m.d.comb += [
            axi.awvalid.eq(burst.valid),
            burst.ready.eq(axi.awready),
            *self.burst("aw", burst.payload.beat),
            axi.awlen.eq(burst.payload.further),
            axi.wvalid.eq(beat.valid),
            beat.ready.eq(axi.wready),
            axi.wdata.eq(beat.payload.data),
            axi.wstrb.eq(beat.payload.strobes),
            axi.wlast.eq(beat.payload.last),
        ]

    def return_beats(self, m: Module):
        """Return each beat to the cache that its id names."""
        axi, is_data = self.axi, self.axi.rid[-1]
        for port in (self.fetch_line, self.line):
            m.d.comb += [
                port.payload.id.eq(axi.rid),
                port.payload.data.eq(axi.rdata),
                port.payload.error.eq(axi.rresp[1]),
            ]
        m.d.comb += [
            self.fetch_line.valid.eq(axi.rvalid & ~is_data),
            self.line.valid.eq(axi.rvalid & is_data),
            axi.rready.eq(Mux(is_data, self.line.ready, self.fetch_line.ready)),
        ]
