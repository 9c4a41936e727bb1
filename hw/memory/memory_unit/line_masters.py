"""AXI side of a core's L1 caches: reads of lines, combined writes of beats."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.axi import Axi4Signature
from ...lib.merge import Merge
from ...lib.one_hot import lowest, select
from ...lib.register_slices import SkidBuffer
from ...lib.streams import ResponseSignature
from ..l1.cluster_layouts import data_mshr_config, instruction_mshr_config, read_layout
from ..l1.data_cache_layouts import beat_write_layout, write_answer_layout
from ..l1.signatures import line_beat_layout, line_read_layout
from .line_master import LineMaster
from .master_router import MasterRouter
from .write_order import WriteOrder

__all__ = ["LineMasters"]


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
    The error of a burst is that of each write in it. An atomic is a write that is alone in its
    burst, and leaves at once after those before it.

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
            address_width=32,
            data_width=config.axi.data_width,
            id_width=config.core.id_width,
            owner_width=mshr_config.owner_width,
        )
        super().__init__({
            "fetch_read": In(stream.Signature(line_read_layout(fetch_config))),
            "fetch_line": Out(ResponseSignature(line_beat_layout(fetch_config))),
            "line_read": In(stream.Signature(line_read_layout(mshr_config))),
            "line": Out(stream.Signature(line_beat_layout(mshr_config))),
            "line_write": In(stream.Signature(beat_write_layout(mshr_config))),
            "line_written": Out(stream.Signature(write_answer_layout(mshr_config))),
            "busy": Out(1),
            "axi": Out(bus).array(config.axi.masters),
        })

    def build(self, platform):
        m = Module()
        masters = [LineMaster(self.config) for _ in self.axi]
        for c, (master, axi) in enumerate(zip(masters, self.axi, strict=True)):
            m.submodules[f"master_{c}"] = master
            connect(m, master.axi, flipped(axi))
        self.route_requests(m, masters)
        m.submodules.order = order = WriteOrder(self.config)
        connect(m, order.o, flipped(self.line_written))
        for master, write, response in zip(masters, order.writes, order.responses, strict=True):
            connect(m, master.accepted, write)
            connect(m, master.written, response)
        self.bring_instructions(m, masters)
        has_beat = self.bring_data(m, masters)
        waits = (self.fetch_read.valid, self.line_read.valid, self.line_write.valid)
        m.d.comb += self.busy.eq(
            Cat(*waits, order.busy, has_beat, *(master.busy for master in masters)).any()
        )
        return m

    def route_requests(self, m: Module, masters: Sequence[LineMaster]):
        """Route reads and writes to the master of their address."""
        sink = read_layout(self.config)
        for side, port in enumerate((self.fetch_read, self.line_read)):
            router = MasterRouter(self.config.axi, port.payload.shape(), sink)
            m.submodules[f"read_router_{side}"] = router
            connect(m, flipped(port), router.i)
            for master, routed in zip(masters, router.o, strict=True):
                connect(m, routed, master.reads[side])
        write = self.line_write.payload.shape()
        m.submodules.write_router = writes = MasterRouter(self.config.axi, write, write)
        connect(m, flipped(self.line_write), writes.i)
        for master, routed in zip(masters, writes.o, strict=True):
            connect(m, routed, master.write)

    def bring_instructions(self, m: Module, masters: Sequence[LineMaster]):
        """Accept one beat for the instruction cache per cycle."""
        beats = [master.fetch_line for master in masters]
        offered, chosen = Signal(len(beats)), Signal(len(beats))
        payloads = [Value.cast(beat.payload) for beat in beats]
        m.d.comb += [
            offered.eq(Cat(beat.valid for beat in beats)),
            chosen.eq(lowest(offered)),
            self.fetch_line.valid.eq(offered.any()),
            Value.cast(self.fetch_line.payload).eq(select(chosen, payloads)),
            *(beat.ready.eq(chosen[c]) for c, beat in enumerate(beats)),
        ]

    def bring_data(self, m: Module, masters: Sequence[LineMaster]) -> Value:
        """Accept one beat for the data cache per cycle, round-robin; return whether one waits."""
        # The merge's register keeps late bits of a beat out of the path of the core's requests, the
        # skid buffer those requests out of the path to the masters.
        m.submodules.beats = beats = Merge(self.line.payload.shape(), len(masters))
        m.submodules.offered = offered = SkidBuffer(self.line.payload.shape())
        for master, beat in zip(masters, beats.i, strict=True):
            connect(m, master.line, beat)
        m.d.comb += [
            offered.i.valid.eq(beats.o.valid),
            offered.i.payload.eq(beats.o.payload.payload),
            beats.o.ready.eq(offered.i.ready),
        ]
        connect(m, offered.o, flipped(self.line))
        return offered.o.valid
