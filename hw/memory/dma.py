"""The DMA: 2-D copies between DRAM, shared memory and the matrix unit's accumulator."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..axi import BURST_INCR, Axi4Signature
from ..config import ClusterConfig
from ..emit import SharedBlock
from ..registers import RegisterSignature
from ..streams import Queue, ResponseSignature
from .dma_layouts import dma_request, dma_work
from .dma_registers import DmaRegisters
from .drain_writer import DrainWriter
from .job_check import JobCheck
from .merge import Merge
from .ports import Direction, WideReadSignature, WideWriteSignature, dma_done, dma_job
from .read_channel import ReadChannel
from .transfer import Transfer
from .write_channel import WriteChannel
from .write_port import WritePort

__all__ = ["Dma", "dma_events"]

CACHE_BUFFERABLE = 0b0011


def dma_events(config: ClusterConfig) -> data.StructLayout:
    """Layout of the events of a cycle: beats moved, bursts that waited, jobs completed."""
    names = ("read_beats", "write_beats", "read_wait", "write_wait")
    channels = [f"{name}_{c}" for c in range(config.axi.masters) for name in names]
    return data.StructLayout(dict.fromkeys([*channels, "jobs"], 1))


class Dma(SharedBlock):
    """Carry out LOAD, STORE, DRAIN and SPILL jobs of the host and of the matrix unit.

    Jobs are checked one after the other and queue by kind. Loads start in order, up to
    `dma.contexts` side by side sharing every master in turns, and complete in order. STORE,
    DRAIN and SPILL are done one at a time, in order, beside the loads. Loads and the others are
    not ordered with each other: whoever needs that waits for the completion, after which the
    bytes are in shared memory, or the write responses have come.

    Each row is cut at multiples of `axi.interleave_bytes` into bursts of whole beats, so none
    crosses a 4 KB boundary; all have id 0 and come back in order. The first burst goes out about
    16 cycles after the job; then each master moves a beat per cycle where DRAM and shared memory
    are aligned alike modulo a beat.

    A refused job (see `JobCheck`) completes with an error and moves nothing; a job with an AXI
    error response completes with an error after all its bursts.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    registers : In(RegisterSignature(8))
        `address_map.DMA`.
    job : In(stream.Signature(dma_job(config.shared)))
        Jobs of the matrix unit, where there is one.
    drain : In(stream.Signature(8 * config.matrix.drain_bytes))
        Its results, for DRAIN and SPILL, in the order of the jobs.
    done : Out(ResponseSignature(dma_done))
        Completions of the jobs of `job`.
    axi_0, axi_1, … : Out(Axi4Signature)
    read_0, … : Out(WideReadSignature(config.shared, config.axi.beat_bytes))
    write_0, … : Out(WideWriteSignature(config.shared, config.axi.beat_bytes))
    busy : Out(1)
        Combinational: anything to do, or any input valid.
    error : Out(1)
        Any bit of the register `error`.
    events : Out(dma_events(config))
    """

    registers: Any
    job: stream.Interface
    drain: stream.Interface
    done: Any
    busy: Signal
    error: Signal
    events: data.View

    def __init__(self, config: ClusterConfig):
        self.config = config
        axi = config.axi
        members = {"registers": In(RegisterSignature(8))}
        if config.matrix is not None:
            members |= {
                "job": In(stream.Signature(dma_job(config.shared))),
                "drain": In(stream.Signature(8 * config.matrix.drain_bytes)),
                "done": Out(ResponseSignature(dma_done)),
            }
        bus = Axi4Signature(address_width=32, data_width=axi.data_width, id_width=axi.id_width)
        for c in range(axi.masters):
            members |= {
                f"axi_{c}": Out(bus),
                f"read_{c}": Out(WideReadSignature(config.shared, axi.beat_bytes)),
                f"write_{c}": Out(WideWriteSignature(config.shared, axi.beat_bytes)),
            }
        super().__init__(
            members | {"busy": Out(1), "error": Out(1), "events": Out(dma_events(config))}
        )

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.registers = registers = DmaRegisters(config)
        m.submodules.load_queue = loads = Queue(dma_work(config), config.dma.queue)
        m.submodules.write_queue = writes = Queue(dma_work(config), config.dma.queue)
        connect(m, flipped(self.registers), registers.registers)
        m.d.comb += self.error.eq(registers.failed)
        accepting = self.accept(m, registers, loads, writes)

        contexts = []
        for k in range(config.dma.contexts):
            m.submodules[f"load_{k}"] = context = Transfer(config)
            contexts.append(context)
        m.submodules.store = store = Transfer(config)
        writers: list[Any] = [store]
        if config.matrix is not None:
            m.submodules.drain_writer = drain = DrainWriter(config)
            connect(m, flipped(self.drain), drain.drain)
            writers.append(drain)

        channels = [self.channel(m, c, contexts, writers) for c in range(config.axi.masters)]
        fails = [failed for failed, _ in channels]
        for k, context in enumerate(contexts):
            m.d.comb += context.failed.eq(Cat(failed[k] for failed in fails).any())
        write_fails = Cat(failed for _, failed in channels).any()
        m.d.comb += [writer.failed.eq(write_fails) for writer in writers]

        self.begin_loads(m, loads, contexts)
        self.begin_writes(m, writes, writers)
        self.retire(m, registers, contexts, writers)

        inputs = [registers.registers.response.valid, self.registers.request.valid]
        inputs += [accepting, loads.o.valid, writes.o.valid]
        inputs += [context.active for context in contexts + writers]
        for c in range(config.axi.masters):
            axi = getattr(self, f"axi_{c}")
            inputs += [axi.rvalid, axi.bvalid, getattr(self, f"read_{c}").response.valid]
        if config.matrix is not None:
            inputs += [self.job.valid, self.drain.valid]
        m.d.comb += self.busy.eq(Cat(inputs).any())
        return m

    def accept(self, m, registers, loads, writes):
        """Check the jobs of both askers in turns and queue them; return whether one is here."""
        config = self.config
        layout = dma_request(config)
        m.submodules.askers = askers = Merge(layout, 1 if config.matrix is None else 2)
        m.submodules.check = check = JobCheck(config)
        host, *matrix = [getattr(askers, f"i_{k}") for k in range(askers.inputs)]
        connect(m, registers.request, host)
        for asker in matrix:
            m.d.comb += [asker.valid.eq(self.job.valid), self.job.ready.eq(asker.ready)]
            for name, _ in self.job.payload.shape():
                m.d.comb += asker.payload[name].eq(self.job.payload[name])
        work = check.o
        is_load = work.payload.job.direction == Direction.LOAD
        m.d.comb += [
            check.i.payload.eq(askers.o.payload.payload),
            check.i.valid.eq(askers.o.valid),
            askers.o.ready.eq(check.i.ready),
            loads.i.payload.eq(work.payload),
            writes.i.payload.eq(work.payload),
            loads.i.valid.eq(work.valid & is_load),
            writes.i.valid.eq(work.valid & ~is_load),
            work.ready.eq(Mux(is_load, loads.i.ready, writes.i.ready)),
        ]
        return askers.o.valid | ~check.i.ready

    def begin_loads(self, m, loads, contexts):
        """Give loads to the contexts in turn, so that they also complete in turn."""
        turn = Signal(range(len(contexts)))
        for k, context in enumerate(contexts):
            m.d.comb += context.work.payload.eq(loads.o.payload)
            with m.If(turn == k):
                m.d.comb += [
                    context.work.valid.eq(loads.o.valid),
                    loads.o.ready.eq(context.work.ready),
                ]
                with m.If(loads.o.valid & loads.o.ready):
                    m.d.sync += turn.eq((k + 1) % len(contexts))

    def begin_writes(self, m, writes, writers):
        """Begin the next STORE, DRAIN or SPILL when none is under way."""
        free = ~Cat(writer.active for writer in writers).any()
        is_store = writes.o.payload.job.direction == Direction.STORE
        m.d.comb += writes.o.ready.eq(free)
        for writer, mine in zip(writers, (is_store, ~is_store), strict=False):
            m.d.comb += [
                writer.work.payload.eq(writes.o.payload),
                writer.work.valid.eq(writes.o.valid & free & mine),
            ]

    def retire(self, m, registers, contexts, writers):
        """Report one completion per cycle: a write first, else the oldest load."""
        retired = registers.retired
        turn = Signal(range(len(contexts)))
        for k, context in enumerate(contexts):
            with m.If(turn == k):
                m.d.comb += [
                    retired.payload.eq(context.done.payload),
                    retired.valid.eq(context.done.valid),
                    context.done.ready.eq(1),
                ]
                with m.If(context.done.valid & context.done.ready):
                    m.d.sync += turn.eq((k + 1) % len(contexts))
        for writer in writers:
            with m.If(writer.done.valid):
                m.d.comb += [
                    retired.payload.eq(writer.done.payload),
                    retired.valid.eq(1),
                    writer.done.ready.eq(1),
                ]
                m.d.comb += [context.done.ready.eq(0) for context in contexts]
        m.d.comb += self.events.jobs.eq(retired.valid)
        if self.config.matrix is not None:
            payload = retired.payload
            m.d.comb += [
                self.done.valid.eq(retired.valid & ~payload.host),
                self.done.payload.tag.eq(payload.tag),
                self.done.payload.direction.eq(payload.direction),
                self.done.payload.error.eq(payload.failed | payload.refused),
            ]

    def channel(self, m, c, contexts, writers):
        """Build one master with its ports; return whose reads and whether a write failed."""
        config = self.config
        m.submodules[f"read_channel_{c}"] = read = ReadChannel(config)
        m.submodules[f"write_channel_{c}"] = write = WriteChannel(config)
        m.submodules[f"write_port_{c}"] = port = WritePort(config)
        axi = getattr(self, f"axi_{c}")
        for k, context in enumerate(contexts):
            connect(m, getattr(context, f"segment_{c}"), getattr(read, f"segment_{k}"))
            m.d.comb += context.finished[c].eq(port.finished[k])
        connect(m, read.line, port.load)
        connect(m, port.write, flipped(getattr(self, f"write_{c}")))
        connect(m, write.read, flipped(getattr(self, f"read_{c}")))
        store, *drains = writers
        connect(m, getattr(store, f"segment_{c}"), write.segment)
        m.d.comb += store.finished[c].eq(axi.bvalid)
        for drain in drains:
            connect(m, getattr(drain, f"line_{c}"), write.line)
            connect(m, getattr(drain, f"spill_{c}"), port.spill)
            m.d.comb += drain.finished[c].eq(axi.bvalid | port.finished[config.dma.contexts])
        self.connect_axi(m, c, axi, read, write)
        return read.failed, axi.bvalid & axi.bresp[1]

    def connect_axi(self, m, c, axi, read, write):
        """Give the channels' streams the names and constants of AXI4."""
        events = self.events
        size = exact_log2(self.config.axi.beat_bytes)
        for letter, channel in (("ar", read), ("aw", write)):
            burst = channel.address
            m.d.comb += [
                getattr(axi, f"{letter}addr").eq(burst.payload.address),
                getattr(axi, f"{letter}len").eq(burst.payload.length),
                getattr(axi, f"{letter}size").eq(size),
                getattr(axi, f"{letter}burst").eq(BURST_INCR),
                getattr(axi, f"{letter}cache").eq(CACHE_BUFFERABLE),
                getattr(axi, f"{letter}valid").eq(burst.valid),
                burst.ready.eq(getattr(axi, f"{letter}ready")),
            ]
        m.d.comb += [
            read.beat.payload.data.eq(axi.rdata),
            read.beat.payload.error.eq(axi.rresp[1]),
            read.beat.valid.eq(axi.rvalid),
            axi.rready.eq(read.beat.ready),
            axi.wdata.eq(write.beat.payload.data),
            axi.wstrb.eq(write.beat.payload.mask),
            axi.wlast.eq(write.beat.payload.last),
            axi.wvalid.eq(write.beat.valid),
            write.beat.ready.eq(axi.wready),
            axi.bready.eq(1),
            write.responded.eq(axi.bvalid),
            events[f"read_beats_{c}"].eq(axi.rvalid & axi.rready),
            events[f"write_beats_{c}"].eq(axi.wvalid & axi.wready),
            events[f"read_wait_{c}"].eq(read.waits),
            events[f"write_wait_{c}"].eq((axi.awvalid & ~axi.awready) | (axi.wvalid & ~axi.wready)),
        ]
