"""Data memory unit of a core: L1 data cache, shared memory, unit registers and console."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.core_memory import data_request_layout, data_response_layout
from ...lib.interfaces.remote_memory import RemoteSignature
from ...lib.interfaces.shared_memory import NarrowSignature, RowSignature
from ...lib.merge import Merge
from ...lib.register_bus import RegisterSignature
from ...lib.register_slices import SkidBuffer
from ...lib.streams import Queue, ResponseSignature
from ..l1.cache_reads import CacheReadsSignature, probe_reads
from ..l1.cluster_layouts import context_layout, data_mshr_config
from ..l1.data_cache import DataCache
from ..l1.data_cache_layouts import beat_write_layout, data_cache_events, write_answer_layout
from ..l1.signatures import line_beat_layout, line_read_layout
from .beat_lanes import word_of, written
from .coalescer import Coalescer
from .immediate_replies import answer_here
from .layouts import WINDOW_WIDTH, Target, group_layout, reply_layout
from .remote_port import RemotePort
from .shared_lanes import SharedLanes
from .transactions import Transactions
from .unit_register_port import UnitRegisterPort

__all__ = ["DataMemoryUnit"]


class DataMemoryUnit(SharedBlock):
    """Data memory unit: serves loads and stores; lanes in one beat of DRAM share an access.

    | cycle | a load from DRAM                                                             |
    |-------|------------------------------------------------------------------------------|
    | 0     | `request` is accepted                                                        |
    | 1     | its first beat is requested from `DataCache`; one more beat per cycle        |
    | 2     | `response` of a hit                                                          |
    | 3     | on a miss `line_read` is offered, unless the line is in flight               |
    | n     | the beat arrives                                                             |
    | n + 1 | `response`                                                                   |

    Hits thus have a latency of 2 cycles. The throughput is one beat per cycle. Accesses to one
    beat take effect in the order of their requests, within a request the lowest lane first;
    others in any order. All accesses to unit registers are in order too, one lane at a time, and so
    are those through windows. One that its unit or a cluster stalls delays no other access.
    Responses are partial and in any order, one per cycle: those of shared memory first, then loads
    from DRAM and others in turn. A store to DRAM is answered 1 cycle after it is done, a store to a
    register 1 cycle after its unit accepts it. An access without a target is answered with an error
    after 2 cycles, like one that DRAM or a unit refuses. Writes of other masters to DRAM are
    visible at the latest after `invalidate`. Atomics in DRAM are writes, answered with a word.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    request : In(stream.Signature(data_request_layout(config.core)))
    response : Out(ResponseSignature(data_response_layout(config.core)))
    line_read, line, line_write, line_written, invalidate, events : see `DataCache`
    narrow : Out(NarrowSignature(config.shared)).array(config.core.shared_ports)
        To shared memory.
    row : Out(RowSignature(config.shared, config.row_bytes))
        Likewise; only if `row_bytes` is not None.
    device : Out(RegisterSignature(14))
        To registers of units, by byte addresses in their window; only with a DMA.
    remote : Out(RemoteSignature(config.shared, config.clusters))
        To shared memory of all clusters; only with several.
    console : Out(stream.Signature(8))
        Bytes stored to the console.
    reads : Out(CacheReadsSignature(…))
        Monitor of the cache's reads.
    busy : Out(1)
        Combinational: a request is in progress, or arrives.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        core, mshr_config = config.core, data_mshr_config(config)
        members = {
            "request": In(stream.Signature(data_request_layout(core))),
            "response": Out(ResponseSignature(data_response_layout(core))),
            "console": Out(stream.Signature(8)),
            "line_read": Out(stream.Signature(line_read_layout(mshr_config))),
            "line": In(stream.Signature(line_beat_layout(mshr_config))),
            "line_write": Out(stream.Signature(beat_write_layout(mshr_config))),
            "line_written": In(stream.Signature(write_answer_layout(mshr_config))),
            "invalidate": In(1),
            "events": Out(data_cache_events(mshr_config)),
            "reads": Out(CacheReadsSignature(mshr_config.waiter_width)),
            "busy": Out(1),
            "narrow": Out(NarrowSignature(config.shared)).array(core.shared_ports),
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
        config = self.config
        m.submodules.coalescer = coalescer = Coalescer(config)
        m.submodules.transactions = transactions = Transactions(config)
        m.submodules.cache = cache = DataCache(data_mshr_config(config))
        inputs = 2 + config.has_dma + (config.clusters > 1)
        m.submodules.replies = replies = Merge(reply_layout(config), inputs)
        here, stores, *others = replies.i
        registers, windows = others[: config.has_dma], others[config.has_dma :]
        # The coalescer's `ready` is known late; the skid buffer keeps it out of the core's path.
        m.submodules.requests = requests = SkidBuffer(self.request.payload.shape())
        connect(m, flipped(self.request), requests.i)
        connect(m, requests.o, coalescer.i)
        group = coalescer.o
        connect(m, cache.line_read, flipped(self.line_read))
        connect(m, flipped(self.line), cache.line)
        connect(m, cache.line_write, flipped(self.line_write))
        connect(m, flipped(self.line_written), cache.line_written)
        m.d.comb += [
            cache.invalidate.eq(self.invalidate),
            self.events.eq(cache.events),
            transactions.goes.eq(self.access(m, group, transactions, cache, stores)),
        ]
        read, answer = cache.read, cache.answer
        probe_reads(
            m,
            self.reads,
            read.valid,
            read.ready,
            read.payload.id,
            answered=answer.valid & answer.ready,
            answered_id=answer.payload.id,
        )
        takes, part, is_busy = self.share(m, group, answer.valid | replies.o.valid)
        lanes = [self.access_registers(m, group, replied) for replied in registers]
        lanes += [self.access_windows(m, group, replied) for replied in windows]
        accepts = [accepted for accepted, _ in lanes]
        is_answered = answer_here(m, config, group, flipped(self.console), here)
        m.d.comb += group.ready.eq(Cat(transactions.goes, is_answered, takes, *accepts).any())
        self.respond(m, part, answer, replies.o)
        m.d.comb += self.busy.eq(
            Cat(
                requests.o.valid,
                coalescer.busy,
                transactions.busy,
                replies.o.valid,
                *(waits for _, waits in lanes),
                self.console.valid,
                is_busy,
                cache.busy,
            ).any()
        )
        return m

    def access(
        self,
        m: Module,
        group: stream.Interface,
        transactions: Transactions,
        cache: DataCache,
        stores: stream.Interface,
    ) -> Value:
        """Access the cache and reply to its stores; return whether it accepts the group."""
        access, context = group.payload, Signal(context_layout(self.config))
        done = data.StructLayout({
            "number": len(transactions.number),
            "tag": len(access.tag),
            "lanes": len(access.lanes),
        })
        # One entry per transaction, so never full.
        m.submodules.order = order = Queue(done, self.config.core.transactions)
        may_go, read, write = Signal(), cache.read, cache.write
        writes, is_failed = access.is_store, cache.written.payload
        if self.config.core.atomics:
            writes, is_failed = writes | access.atomic, is_failed.error
            m.d.comb += stores.payload.word.eq(cache.written.payload.word)
        load, store = transactions.ended
        m.d.comb += [
            may_go.eq(group.valid & transactions.free & (access.target == Target.DRAM)),
            context.tag.eq(access.tag),
            context.lanes.eq(access.lanes),
            *(context.places[n].eq(access.places[n]) for n in range(len(access.lanes))),
            read.valid.eq(may_go & ~writes),
            read.payload.id.eq(transactions.number),
            read.payload.beat.eq(access.beat),
            read.payload.context.eq(context),
            write.valid.eq(may_go & writes),
            *written(m, access, write.payload),
            load.valid.eq(cache.answer.valid & cache.answer.ready),
            load.payload.eq(cache.answer.payload.id),
            order.i.valid.eq(write.valid & write.ready),
            order.i.payload.number.eq(transactions.number),
            order.i.payload.tag.eq(access.tag),
            order.i.payload.lanes.eq(access.lanes),
            stores.valid.eq(cache.written.valid),
            stores.payload.tag.eq(order.o.payload.tag),
            stores.payload.lanes.eq(order.o.payload.lanes),
            stores.payload.error.eq(is_failed),
            cache.written.ready.eq(stores.ready),
            order.o.ready.eq(stores.valid & stores.ready),
            store.valid.eq(order.o.ready),
            store.payload.eq(order.o.payload.number),
        ]
        return (read.valid & read.ready) | (write.valid & write.ready)

    def access_registers(
        self, m: Module, group: stream.Interface, answer: stream.Interface
    ) -> tuple[Value, Value]:
        """Access unit registers and reply; return whether a group is accepted, and `busy`."""
        m.submodules.unit_registers = unit_registers = UnitRegisterPort(self.config)
        connect(m, unit_registers.registers, flipped(self.device))
        is_device = group.payload.target == Target.DEVICE
        device = unit_registers.o
        m.d.comb += [
            unit_registers.i.valid.eq(group.valid & is_device),
            unit_registers.i.payload.eq(group.payload),
            answer.valid.eq(device.valid),
            answer.payload.tag.eq(device.payload.tag),
            answer.payload.lanes.eq(device.payload.mask),
            answer.payload.word.eq(device.payload.data[0]),
            answer.payload.error.eq(device.payload.error.any()),
            device.ready.eq(answer.ready),
        ]
        return is_device & unit_registers.i.ready, unit_registers.busy

    def access_windows(
        self, m: Module, group: stream.Interface, answer: stream.Interface
    ) -> tuple[Value, Value]:
        """Access memory of all clusters; return whether a group is accepted, and `busy`."""
        m.submodules.remote_port = remote_port = RemotePort(self.config)
        connect(m, remote_port.remote, flipped(self.remote))
        connect(m, remote_port.o, answer)
        is_remote = group.payload.target == Target.REMOTE
        m.d.comb += [
            remote_port.i.valid.eq(group.valid & is_remote),
            remote_port.i.payload.eq(group.payload),
        ]
        return is_remote & remote_port.i.ready, remote_port.busy

    def share(self, m: Module, group: stream.Interface, others: Value):
        """Connect shared memory; return whether it accepts a group, its response, and its `busy`.

        `others`: other responses wait.
        """
        m.submodules.shared = shared = SharedLanes(self.config)
        # Lane grants are known late; the skid buffer keeps them out of the coalescer's path.
        m.submodules.ahead = ahead = SkidBuffer(group_layout(self.config))
        m.d.comb += [
            ahead.i.valid.eq(group.valid & (group.payload.target == Target.SHARED)),
            ahead.i.payload.eq(group.payload),
        ]
        connect(m, ahead.o, shared.i)
        for p in range(shared.ports):
            connect(m, shared.port[p], flipped(self.narrow[p]))
        if shared.has_rows:
            connect(m, shared.row, flipped(self.row))
        # Responses of shared memory cannot be stalled; the pause keeps the others from starving.
        m.d.sync += shared.pause.eq(others & shared.o.valid)
        return ahead.i.valid & ahead.i.ready, shared.o, shared.busy | ahead.o.valid

    def respond(self, m: Module, part: Any, answer: stream.Interface, replies: stream.Interface):
        """Respond to lanes of shared memory first, else to loads of DRAM and others in turn."""
        response, context = self.response.payload, Signal(context_layout(self.config))
        is_reply, replies_next = Signal(), Signal()
        lanes, reply = range(self.config.core.request_lanes), replies.payload.payload
        m.d.comb += [
            context.eq(answer.payload.context),
            is_reply.eq(replies.valid & (replies_next | ~answer.valid)),
            replies.ready.eq(~part.valid & is_reply),
            answer.ready.eq(~part.valid & ~is_reply),
            self.response.valid.eq(part.valid | replies.valid | answer.valid),
        ]
        with m.If(part.valid):
            m.d.comb += response.eq(part.payload)
        with m.Elif(is_reply):
            m.d.comb += [
                response.tag.eq(reply.tag),
                response.mask.eq(reply.lanes),
                response.error.eq(Mux(reply.error, reply.lanes, 0)),
                *(response.data[lane].eq(reply.word) for lane in lanes),
            ]
        with m.Else():
            m.d.comb += [
                response.tag.eq(context.tag),
                response.mask.eq(context.lanes),
                response.error.eq(Mux(answer.payload.error, context.lanes, 0)),
                *(
                    response.data[lane].eq(word_of(answer.payload.data, context.places[lane]))
                    for lane in lanes
                ),
            ]
        with m.If(~part.valid):
            m.d.sync += replies_next.eq(~is_reply)
