"""What lies between a core and the memories of its cluster."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..axi import BURST_INCR, Axi4Signature
from ..config import ClusterConfig
from ..core.front_layouts import fetch_request_layout, fetch_response_layout
from ..core.layouts import data_request_layout, data_response_layout
from ..emit import SharedBlock
from ..registers import RegisterSignature
from ..streams import Queue, ResponseSignature
from .arbiter import lowest, select
from .axi_mux import CACHE_BUFFERABLE, AxiMuxConfig
from .data_path import DataPath, master_of
from .instruction_cache import InstructionCache
from .merge import Merge
from .path_layouts import (
    WINDOW_WIDTH,
    core_id_width,
    core_of,
    id_width,
    instruction_misses,
    line_layout,
    read_layout,
    write_layout,
)
from .ports import NarrowSignature

__all__ = ["CorePath", "cluster_mux"]

SIDES = ("instructions", "data")


def cluster_mux(config: ClusterConfig) -> AxiMuxConfig:
    """Return the multiplexer at each AXI master of a cluster with cores: the DMA, then they."""
    return AxiMuxConfig(
        id_widths=(config.axi.id_width, *[core_id_width(config)] * config.cores),
        data_width=config.axi.data_width,
    )


class CorePath(SharedBlock):
    """Bring what a core asks for to AXI, shared memory and units; data has no cache.

    Reads of instructions are bursts of a line; every other transaction is of one beat. Reads have
    ids of their own: instructions and data are told apart by the highest bit, and come back in any
    order. Writes have id 0: they must take effect in their order. A read leaves 1 cycle after
    `InstructionCache` or `DataPath` offers it, a write too.

    Parameters
    ----------
    config : ClusterConfig
        With cores.

    Members
    -------
    fetch, fetched, invalidate : see `InstructionCache`
    request, response, device, console, narrow_0, … : see `DataPath`
    axi_0, axi_1, … : Out(Axi4Signature)
    busy : Out(1)
        Combinational: something is under way, or comes in.
    """

    fetch: stream.Interface
    fetched: Any
    invalidate: Signal
    request: stream.Interface
    response: Any
    device: Any
    console: stream.Interface
    busy: Signal

    def __init__(self, config: ClusterConfig):
        self.config = config
        core, axi = core_of(config), config.axi
        bus = Axi4Signature(
            address_width=32, data_width=axi.data_width, id_width=core_id_width(config)
        )
        super().__init__(
            {
                "fetch": In(stream.Signature(fetch_request_layout(core))),
                "fetched": Out(ResponseSignature(fetch_response_layout(core))),
                "invalidate": In(1),
                "request": In(stream.Signature(data_request_layout(core))),
                "response": Out(ResponseSignature(data_response_layout(core))),
                "device": Out(RegisterSignature(WINDOW_WIDTH)),
                "console": Out(stream.Signature(8)),
                "busy": Out(1),
            }
            | {f"axi_{c}": Out(bus) for c in range(axi.masters)}
            | {
                f"narrow_{p}": Out(NarrowSignature(config.shared))
                for p in range(config.core_shared_ports)
            }
        )

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.instructions = instructions = InstructionCache(config)
        m.submodules.data_side = data_side = DataPath(config)
        connect(m, flipped(self.fetch), instructions.fetch)
        connect(m, instructions.fetched, flipped(self.fetched))
        connect(m, flipped(self.request), data_side.request)
        connect(m, data_side.response, flipped(self.response))
        connect(m, data_side.device, flipped(self.device))
        connect(m, data_side.console, flipped(self.console))
        for p in range(config.core_shared_ports):
            connect(m, getattr(data_side, f"narrow_{p}"), flipped(getattr(self, f"narrow_{p}")))
        under_way = []
        for c in range(config.axi.masters):
            under_way += [
                self.ask(m, c, instructions.read, getattr(data_side, f"read_{c}")),
                self.write(m, c, getattr(data_side, f"write_{c}")),
            ]
            written = getattr(data_side, f"written_{c}")
            axi = getattr(self, f"axi_{c}")
            m.d.comb += [
                written.valid.eq(axi.bvalid),
                written.payload.eq(axi.bresp[1]),
                axi.bready.eq(written.ready),
            ]
        self.bring(m, instructions, data_side)
        m.d.comb += [
            instructions.invalidate.eq(self.invalidate),
            self.busy.eq(instructions.busy | data_side.busy | Cat(under_way).any()),
        ]
        return m

    def ask(self, m: Module, c: int, instructions, data_side) -> Value:
        """Let both sides read at a master in turns; return whether a read waits."""
        config, axi = self.config, getattr(self, f"axi_{c}")
        m.submodules[f"reads_{c}"] = reads = Merge(read_layout(config), len(SIDES))
        first, second = (getattr(reads, f"i_{side}") for side in range(len(SIDES)))
        asked = reads.o.payload
        mine = master_of(config, instructions.payload.beat) == c
        m.d.comb += [
            first.valid.eq(instructions.valid & mine),
            first.payload.eq(instructions.payload),
            axi.arid.eq(Cat(asked.payload.id, asked.source)),
            axi.arvalid.eq(reads.o.valid),
            reads.o.ready.eq(axi.arready),
            *self.beats_of(axi, "ar", asked.payload.beat),
            axi.arlen.eq(Mux(asked.source, 0, instruction_misses(config).beats - 1)),
        ]
        connect(m, data_side, second)
        with m.If(mine):
            m.d.comb += instructions.ready.eq(first.ready)
        return reads.o.valid

    def beats_of(self, axi, letter: str, beat: Value):
        """Return the assignments of an address channel, but for how many beats it is."""
        low = exact_log2(self.config.axi.beat_bytes)
        return [
            getattr(axi, f"{letter}addr").eq(Cat(C(0, low), beat)),
            getattr(axi, f"{letter}size").eq(low),
            getattr(axi, f"{letter}burst").eq(BURST_INCR),
            getattr(axi, f"{letter}cache").eq(CACHE_BUFFERABLE),
        ]

    def write(self, m: Module, c: int, write) -> Value:
        """Pass writes on, address and data each in its own time; return whether one waits."""
        axi, layout = getattr(self, f"axi_{c}"), write_layout(self.config).members
        beat = data.StructLayout({name: layout[name] for name in ("data", "strobes")})
        m.submodules[f"addresses_{c}"] = addresses = Queue(layout["beat"], 2)
        m.submodules[f"beats_{c}"] = beats = Queue(beat, 2)
        m.d.comb += [
            write.ready.eq(addresses.i.ready & beats.i.ready),
            addresses.i.valid.eq(write.valid & beats.i.ready),
            beats.i.valid.eq(write.valid & addresses.i.ready),
            addresses.i.payload.eq(write.payload.beat),
            beats.i.payload.data.eq(write.payload.data),
            beats.i.payload.strobes.eq(write.payload.strobes),
            axi.awvalid.eq(addresses.o.valid),
            addresses.o.ready.eq(axi.awready),
            *self.beats_of(axi, "aw", addresses.o.payload),
            axi.wvalid.eq(beats.o.valid),
            beats.o.ready.eq(axi.wready),
            axi.wdata.eq(beats.o.payload.data),
            axi.wstrb.eq(beats.o.payload.strobes),
            axi.wlast.eq(1),
        ]
        return addresses.o.valid | beats.o.valid

    def bring(self, m: Module, instructions: InstructionCache, data_side: DataPath):
        """Give what was read to the side that asked: of lines for instructions one at a time."""
        masters = [getattr(self, f"axi_{c}") for c in range(self.config.axi.masters)]
        offered, chosen = Signal(len(masters)), Signal(len(masters))
        came = []
        for c, axi in enumerate(masters):
            is_data = axi.rid[-1]
            line = getattr(data_side, f"line_{c}")
            layout = line_layout(self.config)
            value = Signal(layout, name=f"came_{c}")
            m.d.comb += [
                value.id.eq(axi.rid[: id_width(self.config)]),
                value.data.eq(axi.rdata),
                value.error.eq(axi.rresp[1]),
                line.valid.eq(axi.rvalid & is_data),
                line.payload.eq(value),
                offered[c].eq(axi.rvalid & ~is_data),
                axi.rready.eq(Mux(is_data, line.ready, chosen[c])),
            ]
            came.append(Value.cast(value))
        m.d.comb += [
            chosen.eq(lowest(offered)),
            instructions.line.valid.eq(offered.any()),
            Value.cast(instructions.line.payload).eq(select(chosen, came)),
        ]
