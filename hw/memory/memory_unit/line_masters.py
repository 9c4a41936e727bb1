"""AXI side of a core's L1 caches: reads of lines, combined writes of beats."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.axi import Axi4Signature, channel, master_of, whole_beats
from ...lib.merge import Merge
from ...lib.one_hot import lowest, select
from ...lib.register_slices import SkidBuffer
from ...lib.streams import Queue, ResponseSignature
from ...lib.write_combiner import WriteCombiner, WriteCombinerConfig
from ..l1.cluster_layouts import data_mshr_config, instruction_mshr_config, read_layout
from ..l1.data_cache_layouts import beat_write_layout
from ..l1.signatures import line_beat_layout, line_read_layout

__all__ = ["PATIENCE", "LineMasters"]

SIDES = ("instructions", "data")
#: Lines at a master's write combiner, and its patience (see `WriteCombiner`). Warps that store
#: rows in turn thus fill whole lines.
LINES_WRITTEN, PATIENCE = 8, 8


class LineMasters(SharedBlock):
    """AXI side of the L1 caches: reads lines and writes beats, at the master of each address.

    A read is a burst of one line. The highest bit of its id distinguishes data from instructions;
    responses may be in any order. A burst leaves 1 cycle after its request. Beats of instructions
    pass in the cycle they arrive, beats of data 1 cycle later; one of each per cycle, from any
    master.

    A write leaves with id 0. If it completes its line, its address leaves 1 cycle later and its
    beat 2 cycles later. Otherwise it waits for others to its line and leaves with them in one
    burst, after at most 16 cycles without other traffic (see `WriteCombiner`). Writes to one beat
    take effect in order, others in any order. Write responses are always accepted, so that none
    blocks those behind it. They are forwarded from the next cycle on, in the order of the writes.
    The error of a burst is that of each write in it.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    fetch_read, fetch_line : as `read` and `line` of `InstructionCache`, with directions reversed
    line_read, line, line_write, line_written : as of `DataCache`, with directions reversed
        At most as many writes are in flight as there are transactions.
    axi : Out(Axi4Signature).array(config.axi.masters)
    busy : Out(1)
        Combinational: a request waits here, or arrives.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        self.mshr_config = mshr_config = data_mshr_config(config)
        fetch_config = instruction_mshr_config(config)
        bus = Axi4Signature(
            address_width=32, data_width=config.axi.data_width, id_width=config.core.id_width
        )
        super().__init__({
            "fetch_read": In(stream.Signature(line_read_layout(fetch_config))),
            "fetch_line": Out(ResponseSignature(line_beat_layout(fetch_config))),
            "line_read": In(stream.Signature(line_read_layout(mshr_config))),
            "line": Out(stream.Signature(line_beat_layout(mshr_config))),
            "line_write": In(stream.Signature(beat_write_layout(mshr_config))),
            "line_written": Out(stream.Signature(1)),
            "busy": Out(1),
            "axi": Out(bus).array(config.axi.masters),
        })

    @property
    def writes(self) -> WriteCombinerConfig:
        """Config of a master's write combiner; no burst crosses an interleave block."""
        axi = self.config.axi
        return WriteCombinerConfig(
            lines=LINES_WRITTEN,
            line_beats=axi.interleave_bytes // axi.beat_bytes,
            beat_bytes=axi.beat_bytes,
            patience=PATIENCE,
        )

    @property
    def order_layout(self) -> data.StructLayout:
        """Layout of the place of a write: line of a master, and whether it joined a burst there."""
        return data.StructLayout({
            "master": max(1, exact_log2(self.config.axi.masters)),
            "line": exact_log2(LINES_WRITTEN),
            "joins": 1,
        })

    def build(self, platform):
        m = Module()
        masters = self.axi
        combiners = [WriteCombiner(self.writes) for _ in masters]
        m.submodules.order = order = Queue(self.order_layout, self.mshr_config.waiters)
        waits = [self.fetch_read.valid, self.line_read.valid, self.line_write.valid, order.o.valid]
        for c, axi in enumerate(masters):
            self.write(m, c, axi, combiners[c])
            waits += [self.connect_reads(m, c, axi), combiners[c].busy, axi.rvalid, axi.bvalid]
        self.bring_instructions(m, masters)
        waits.append(self.bring_data(m, masters))
        self.acknowledge(m, order, masters, combiners)
        m.d.comb += self.busy.eq(Cat(waits).any())
        return m

    def connect_reads(self, m: Module, c: int, axi) -> Value:
        """Merge the reads of both caches at a master; return whether a read waits."""
        config = self.config
        m.submodules[f"reads_{c}"] = reads = Merge(read_layout(config), len(SIDES))
        for side, read in enumerate((self.fetch_read, self.line_read)):
            i, is_here = reads.i[side], Signal(name=f"{SIDES[side]}_at_{c}")
            m.d.comb += [
                is_here.eq(self.master_of(read.payload.beat) == c),
                i.valid.eq(read.valid & is_here),
                i.payload.id.eq(read.payload.id),
                i.payload.beat.eq(read.payload.beat),
            ]
            with m.If(is_here):
                m.d.comb += read.ready.eq(i.ready)
        request = reads.o.payload
        beats = instruction_mshr_config(config).beats, self.mshr_config.beats
        m.d.comb += [
            axi.arid.eq(Cat(request.payload.id, request.source)),
            axi.arvalid.eq(reads.o.valid),
            reads.o.ready.eq(axi.arready),
            *self.burst(axi, "ar", request.payload.beat),
            axi.arlen.eq(Mux(request.source, beats[1] - 1, beats[0] - 1)),
        ]
        return reads.o.valid

    def address_of(self, beat: Value) -> Value:
        """Return the byte address of a beat."""
        return Cat(C(0, exact_log2(self.config.axi.beat_bytes)), beat)

    def master_of(self, beat: Value) -> Value:
        """Return the number of the master that serves a beat."""
        return master_of(self.config.axi, self.address_of(beat))

    def burst(self, axi, letter: str, beat: Value):
        """Return the assignments of an address channel, except of its length."""
        return [
            channel(axi, letter).addr.eq(self.address_of(beat)),
            *whole_beats(axi, letter),
        ]

    def write(self, m: Module, c: int, axi, combiner: WriteCombiner):
        """Connect a master's write combiner; address and data move independently."""
        m.submodules[f"writes_{c}"] = combiner
        write, burst, beat = self.line_write, combiner.burst, combiner.beat
        is_here = Signal(name=f"write_at_{c}")
        m.d.comb += [
            is_here.eq(self.master_of(write.payload.beat) == c),
            combiner.i.valid.eq(write.valid & is_here),
            combiner.i.payload.eq(write.payload),
            axi.awvalid.eq(burst.valid),
            burst.ready.eq(axi.awready),
            *self.burst(axi, "aw", burst.payload.beat),
            axi.awlen.eq(burst.payload.further),
            axi.wvalid.eq(beat.valid),
            beat.ready.eq(axi.wready),
            axi.wdata.eq(beat.payload.data),
            axi.wstrb.eq(beat.payload.strobes),
            axi.wlast.eq(beat.payload.last),
        ]
        with m.If(is_here):
            m.d.comb += write.ready.eq(combiner.i.ready)

    def bring_instructions(self, m: Module, masters):
        """Accept one beat for the instruction cache per cycle."""
        offered, chosen, arrived = Signal(len(masters)), Signal(len(masters)), []
        for c, axi in enumerate(masters):
            value = Signal.like(self.fetch_line.payload, name=f"came_{c}")
            m.d.comb += [
                value.id.eq(axi.rid),
                value.data.eq(axi.rdata),
                value.error.eq(axi.rresp[1]),
                offered[c].eq(axi.rvalid & ~axi.rid[-1]),
            ]
            arrived.append(Value.cast(value))
            with m.If(~axi.rid[-1]):
                m.d.comb += axi.rready.eq(chosen[c])
        m.d.comb += [
            chosen.eq(lowest(offered)),
            self.fetch_line.valid.eq(offered.any()),
            Value.cast(self.fetch_line.payload).eq(select(chosen, arrived)),
        ]

    def bring_data(self, m: Module, masters) -> Value:
        """Accept one beat for the data cache per cycle, round-robin; return whether one waits."""
        # The merge's register keeps late bits of a beat out of the path of the core's requests, the
        # skid buffer those requests out of the path to the masters.
        m.submodules.beats = beats = Merge(self.line.payload.shape(), len(masters))
        m.submodules.offered = offered = SkidBuffer(self.line.payload.shape())
        for c, axi in enumerate(masters):
            i = beats.i[c]
            m.d.comb += [
                i.valid.eq(axi.rvalid & axi.rid[-1]),
                i.payload.id.eq(axi.rid),
                i.payload.data.eq(axi.rdata),
                i.payload.error.eq(axi.rresp[1]),
            ]
            with m.If(axi.rid[-1]):
                m.d.comb += axi.rready.eq(i.ready)
        m.d.comb += [
            offered.i.valid.eq(beats.o.valid),
            offered.i.payload.eq(beats.o.payload.payload),
            beats.o.ready.eq(offered.i.ready),
        ]
        connect(m, offered.o, flipped(self.line))
        return offered.o.valid

    def acknowledge(self, m: Module, order: Queue, masters, combiners):
        """Queue the write responses of each master, and forward them in the order of the writes.

        The first write of a burst waits for its response. Writes that joined the burst come later
        and reuse that response; no other burst of the same line begins before them.
        """
        written, first, acknowledged = order.i.payload, order.o.payload, self.line_written
        m.d.comb += [
            order.i.valid.eq(self.line_write.valid & self.line_write.ready),
            written.master.eq(self.master_of(self.line_write.payload.beat)),
            order.o.ready.eq(acknowledged.valid & acknowledged.ready),
        ]
        for c, (axi, combiner) in enumerate(zip(masters, combiners, strict=True)):
            m.submodules[f"responses_{c}"] = responses = Queue(1, self.mshr_config.waiters)
            failed = Signal(LINES_WRITTEN, name=f"failed_{c}")  # the last burst of each line
            m.d.comb += [
                responses.i.valid.eq(axi.bvalid),
                responses.i.payload.eq(axi.bresp[1]),
                axi.bready.eq(responses.i.ready),
            ]
            with m.If(written.master == c):
                m.d.comb += [written.line.eq(combiner.line), written.joins.eq(combiner.joins)]
            with m.If(order.o.valid & (first.master == c)):
                with m.If(first.joins):
                    m.d.comb += [
                        acknowledged.valid.eq(1),
                        acknowledged.payload.eq(failed.bit_select(first.line, 1)),
                    ]
                with m.Else():
                    m.d.comb += [
                        acknowledged.valid.eq(responses.o.valid),
                        acknowledged.payload.eq(responses.o.payload),
                        responses.o.ready.eq(acknowledged.ready),
                    ]
                    with m.If(responses.o.valid & acknowledged.ready):
                        m.d.sync += failed.bit_select(first.line, 1).eq(responses.o.payload)
