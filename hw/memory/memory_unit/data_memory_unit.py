"""Data memory unit of a core: L1 data cache, shared memory, unit registers and console."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.core_memory import data_request_layout, data_response_layout
from ...lib.interfaces.shared_memory import NarrowSignature, RowSignature
from ...lib.merge import Merge
from ...lib.one_hot import lowest, select
from ...lib.register_bus import RegisterSignature
from ...lib.register_slices import SkidBuffer
from ...lib.streams import Queue, ResponseSignature
from ..l1.cache_reads import CacheReadsSignature, probe_reads
from ..l1.cluster_layouts import data_mshr_config
from ..l1.data_cache import DataCache
from ..l1.data_cache_layouts import (
    beat_write_layout,
    data_cache_events,
    line_beat_layout,
    line_read_layout,
)
from .beat_lanes import BeatConfig, BeatOfLanes, word_of
from .coalescer import Coalescer
from .layouts import WINDOW_WIDTH, Target, answer_layout, group_layout
from .shared_lanes import SharedLanes
from .transactions import Transactions
from .unit_register_port import UnitRegisterPort

__all__ = ["DataMemoryUnit"]


class DataMemoryUnit(SharedBlock):
    """Data memory unit: serves loads and stores; lanes in one beat of DRAM share an access.

    | cycle | a load from DRAM                                                             |
    |-------|------------------------------------------------------------------------------|
    | 0     | `request` is accepted                                                        |
    | 2     | its first beat is requested from `DataCache`; one more beat per cycle        |
    | 3     | the cache answers a hit                                                      |
    | 4     | on a miss `line_read` is offered, unless the line is in flight               |
    | n     | the last beat of the line arrives                                            |
    | n + 2 | the cache answers                                                            |

    A `response` follows 3 cycles after an answer of the cache. Hits thus have a latency of 6
    cycles and a throughput of one beat per cycle, misses one beat per 2 cycles. Accesses to one
    beat take effect in the order of their requests, within a request the lowest lane first;
    others in any order. All accesses to unit registers are in order too, one lane at a time. One
    that its unit stalls delays no other access. Responses are partial and in any order, one per
    cycle, those of shared memory first. A store to DRAM is answered 3 cycles after it is done, a
    store to a register when its unit accepts it. An access without a target is answered with an
    error, like one that DRAM or a unit refuses. Writes of other masters to DRAM are visible at
    the latest after `invalidate`.

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
        To registers of units, by byte addresses in their window.
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
            "device": Out(RegisterSignature(WINDOW_WIDTH)),
            "console": Out(stream.Signature(8)),
            "line_read": Out(stream.Signature(line_read_layout(mshr_config))),
            "line": In(stream.Signature(line_beat_layout(mshr_config))),
            "line_write": Out(stream.Signature(beat_write_layout(mshr_config))),
            "line_written": In(stream.Signature(1)),
            "invalidate": In(1),
            "events": Out(data_cache_events(mshr_config)),
            "reads": Out(CacheReadsSignature(mshr_config.waiter_width)),
            "busy": Out(1),
            "narrow": Out(NarrowSignature(config.shared)).array(core.shared_ports),
        }
        if config.row_bytes is not None:
            members |= {"row": Out(RowSignature(config.shared, config.row_bytes))}
        super().__init__(members)

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.coalescer = coalescer = Coalescer(config)
        m.submodules.transactions = transactions = Transactions(config)
        m.submodules.cache = cache = DataCache(data_mshr_config(config))
        m.submodules.answers = answers = Merge(answer_layout(config), 3)
        here, loads, stores = answers.i
        # The coalescer's `ready` is known late; the skid buffer keeps it out of the core's path.
        m.submodules.asked = asked = SkidBuffer(self.request.payload.shape())
        connect(m, flipped(self.request), asked.i)
        connect(m, asked.o, coalescer.i)
        m.d.comb += [
            transactions.valid.eq(coalescer.o.valid),
            transactions.group.eq(coalescer.o.payload),
            transactions.answer.valid.eq(answers.o.valid),
            transactions.answer.payload.eq(answers.o.payload.payload),
            answers.o.ready.eq(transactions.answer.ready),
        ]
        connect(m, cache.line_read, flipped(self.line_read))
        connect(m, flipped(self.line), cache.line)
        connect(m, cache.line_write, flipped(self.line_write))
        connect(m, flipped(self.line_written), cache.line_written)
        m.d.comb += [
            cache.invalidate.eq(self.invalidate),
            self.events.eq(cache.events),
            transactions.goes.eq(
                self.access(m, coalescer.o.payload, transactions, cache, loads, stores)
                | self.answer_here(m, coalescer.o.payload, transactions, here)
            ),
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
        m.submodules.unit_registers = unit_registers = UnitRegisterPort(config)
        connect(m, unit_registers.registers, flipped(self.device))
        is_device = coalescer.o.payload.target == Target.DEVICE
        waits = transactions.found.valid | unit_registers.o.valid
        takes, part, is_busy = self.share(m, coalescer.o, waits)
        m.d.comb += [
            unit_registers.i.valid.eq(coalescer.o.valid & is_device),
            unit_registers.i.payload.eq(coalescer.o.payload),
            coalescer.o.ready.eq(transactions.goes | takes | (is_device & unit_registers.i.ready)),
        ]
        self.respond(m, transactions.found, part, unit_registers.o)
        m.d.comb += self.busy.eq(
            Cat(
                asked.o.valid,
                coalescer.busy,
                transactions.busy,
                answers.o.valid,
                unit_registers.busy,
                self.response.valid,
                self.console.valid,
                is_busy,
                cache.busy,
            ).any()
        )
        return m

    def access(self, m: Module, group, transactions: Transactions, cache, loads, stores) -> Value:
        """Access the cache and forward its answers; return whether it accepts the group."""
        beat = BeatConfig(unit=self.config, size=self.config.axi.beat_bytes)
        m.submodules.stored = stored = BeatOfLanes(beat)
        # One entry per transaction, so never full.
        depth = self.config.core.transactions
        m.submodules.order = order = Queue(len(transactions.entry), depth)
        may_go, read, write = Signal(), cache.read, cache.write
        m.d.comb += [
            may_go.eq(transactions.may_go & (group.target == Target.DRAM)),
            stored.group.eq(group),
            read.valid.eq(may_go & ~group.is_store),
            read.payload.id.eq(transactions.entry),
            read.payload.beat.eq(group.beat),
            write.valid.eq(may_go & group.is_store),
            write.payload.beat.eq(group.beat),
            write.payload.data.eq(stored.data),
            write.payload.strobes.eq(stored.strobes),
            loads.valid.eq(cache.answer.valid),
            loads.payload.entry.eq(cache.answer.payload.id),
            loads.payload.data.eq(cache.answer.payload.data),
            loads.payload.error.eq(cache.answer.payload.error),
            cache.answer.ready.eq(loads.ready),
            order.i.valid.eq(write.valid & write.ready),
            order.i.payload.eq(transactions.entry),
            stores.valid.eq(cache.written.valid),
            stores.payload.entry.eq(order.o.payload),
            stores.payload.error.eq(cache.written.payload),
            cache.written.ready.eq(stores.ready),
            order.o.ready.eq(stores.valid & stores.ready),
        ]
        return (read.valid & read.ready) | (write.valid & write.ready)

    def answer_here(self, m: Module, group, transactions: Transactions, answer) -> Value:
        """Answer a group that needs no memory; return whether it is accepted."""
        first = Signal(self.config.core.request_lanes)
        numbers = range(len(first))
        m.submodules.printed = printed = Queue(8, 2)
        connect(m, printed.o, flipped(self.console))
        strobes, is_byte, is_here = Signal(WORD_BYTES), Signal(), Signal()
        prints = Signal()
        m.d.comb += [
            first.eq(lowest(group.lanes)),
            strobes.eq(select(first, [group.strobes[n] for n in numbers])),
            is_byte.eq(strobes == lowest(strobes)),
            is_here.eq(
                (group.target != Target.DRAM)
                & (group.target != Target.SHARED)
                & (group.target != Target.DEVICE)
            ),
            prints.eq((group.target == Target.CONSOLE) & is_byte),
            answer.valid.eq(transactions.may_go & is_here & (printed.i.ready | ~prints)),
            answer.payload.entry.eq(transactions.entry),
            answer.payload.error.eq(~prints & (group.target != Target.FORGOTTEN)),
            printed.i.valid.eq(transactions.may_go & prints & answer.ready),
            printed.i.payload.eq(
                select(
                    strobes,
                    [
                        select(first, [group.data[n].word_select(byte, 8) for n in numbers])
                        for byte in range(WORD_BYTES)
                    ],
                )
            ),
        ]
        return answer.valid & answer.ready

    def share(self, m: Module, group, others: Value):
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

    def respond(self, m: Module, found, part, device):
        """Respond to lanes of shared memory first, else to transactions and devices in turn."""
        answered, asked = Signal.like(self.response.payload), found.payload.asked
        device_next, is_device = Signal(), Signal()  # turn of the device; the selection
        m.d.comb += [
            is_device.eq(device.valid & (device_next | ~found.valid)),
            answered.tag.eq(asked.tag),
            answered.mask.eq(asked.lanes),
            answered.error.eq(Mux(found.payload.error, asked.lanes, 0)),
            *(
                answered.data[lane].eq(word_of(found.payload.data, asked.places[lane]))
                for lane in range(self.config.core.request_lanes)
            ),
            found.ready.eq(~part.valid & ~is_device),
            device.ready.eq(~part.valid & is_device),
        ]
        with m.If(part.valid):
            m.d.comb += answered.eq(part.payload)
        with m.Else():
            m.d.sync += device_next.eq(~is_device)
            with m.If(is_device):
                m.d.comb += answered.eq(device.payload)
        m.d.sync += [
            self.response.valid.eq(found.valid | part.valid | device.valid),
            self.response.payload.eq(answered),
        ]
