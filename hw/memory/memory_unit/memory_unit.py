"""Memory unit of a core: its caches and paths to AXI, shared memory and unit registers."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.axi import Axi4Signature
from ...lib.interfaces.core_memory import (
    data_request_layout,
    data_response_layout,
    fetch_request_layout,
    fetch_response_layout,
)
from ...lib.interfaces.remote_memory import RemoteSignature
from ...lib.interfaces.shared_memory import NarrowSignature, RowSignature
from ...lib.register_bus import RegisterSignature
from ...lib.streams import ResponseSignature
from ..l1.cache_reads import CacheReadsSignature
from ..l1.cluster_layouts import data_mshr_config
from ..l1.instruction_cache import InstructionCache
from .data_memory_unit import DataMemoryUnit
from .layouts import WINDOW_WIDTH, memory_unit_events
from .line_masters import LineMasters

__all__ = ["MemoryUnit"]


class MemoryUnit(SharedBlock):
    """Memory unit: connects a core to its L1 caches, AXI, shared memory and unit registers.

    See `InstructionCache` for instruction fetches and `DataMemoryUnit` for loads and stores, with
    their timing. Neither cache sees writes of other masters to DRAM before it is invalidated. A
    missed line is read in one burst; pending writes to a line are combined to one burst.

    | cycle | a load that misses                                             |
    |-------|----------------------------------------------------------------|
    | 0     | `request` is accepted                                          |
    | 4     | the address of its line is offered                             |
    | n     | a beat arrives                                                 |
    | n + 2 | `response` to the lanes of that beat                           |

    A load that hits is answered after 2 cycles. The address of a store that completes its line
    is offered after 3 cycles, that of any other store up to 16 cycles later. Its data follows 1
    cycle after its address. It is answered 2 cycles after its write response, or 3 cycles with
    more than 16 transactions.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    fetch, fetched, invalidate : see `InstructionCache`
    request, response, device, remote, console, narrow, row : see `DataMemoryUnit`
    invalidate_data : In(1)
        Requests for data from the next cycle on return the contents of memory.
    axi : Out(Axi4Signature).array(config.axi.masters)
        See `LineMasters`.
    events : Out(memory_unit_events(config))
    reads : see `DataMemoryUnit`
    busy : Out(1)
        Combinational: a request is in progress, or arrives.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        core, axi = config.core, config.axi
        bus = Axi4Signature(
            address_width=32,
            data_width=axi.data_width,
            id_width=config.core.id_width,
            owner_width=data_mshr_config(config).owner_width,
        )
        members = {
            "fetch": In(stream.Signature(fetch_request_layout(core))),
            "fetched": Out(ResponseSignature(fetch_response_layout(core))),
            "invalidate": In(1),
            "invalidate_data": In(1),
            "request": In(stream.Signature(data_request_layout(core))),
            "response": Out(ResponseSignature(data_response_layout(core))),
            "console": Out(stream.Signature(8)),
            "events": Out(memory_unit_events(config)),
            "reads": Out(CacheReadsSignature(data_mshr_config(config).waiter_width)),
            "narrow": Out(NarrowSignature(config.shared)).array(core.shared_ports),
            "busy": Out(1),
            "axi": Out(bus).array(axi.masters),
        }
        if config.has_dma:
            members |= {"device": Out(RegisterSignature(WINDOW_WIDTH))}
        if config.clusters > 1:
            members |= {"remote": Out(RemoteSignature(config.shared, config.clusters))}
        if config.row_bytes is not None:
            members |= {"row": Out(RowSignature(config.shared, config.row_bytes))}
        super().__init__(members)

    def build(self, platform):
        m = Module()
        m.submodules.instructions = instructions = InstructionCache(self.config)
        m.submodules.data_side = data_side = DataMemoryUnit(self.config)
        m.submodules.masters = masters = LineMasters(self.config)
        connect(m, flipped(self.fetch), instructions.fetch)
        connect(m, instructions.fetched, flipped(self.fetched))
        connect(m, instructions.read, masters.fetch_read)
        connect(m, masters.fetch_line, instructions.line)
        connect(m, flipped(self.request), data_side.request)
        connect(m, data_side.response, flipped(self.response))
        connect(m, data_side.console, flipped(self.console))
        connect(m, data_side.reads, flipped(self.reads))
        connect(m, data_side.line_read, masters.line_read)
        connect(m, masters.line, data_side.line)
        connect(m, data_side.line_write, masters.line_write)
        connect(m, masters.line_written, data_side.line_written)
        for c in range(self.config.axi.masters):
            connect(m, masters.axi[c], flipped(self.axi[c]))
        for p in range(self.config.core.shared_ports):
            connect(m, data_side.narrow[p], flipped(self.narrow[p]))
        if self.config.has_dma:
            connect(m, data_side.device, flipped(self.device))
        if self.config.clusters > 1:
            connect(m, data_side.remote, flipped(self.remote))
        if self.config.row_bytes is not None:
            connect(m, data_side.row, flipped(self.row))
        m.d.comb += [
            instructions.invalidate.eq(self.invalidate),
            data_side.invalidate.eq(self.invalidate_data),
            self.busy.eq(instructions.busy | data_side.busy | masters.busy),
            self.events.instructions.eq(instructions.events),
            self.events.data.eq(data_side.events),
        ]
        return m
