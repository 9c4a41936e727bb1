"""DMA engine: 2-D copies between DRAM, shared memory and the accumulators of matrix units."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import connect, flipped

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import numbered
from ...lib.interfaces.shared_memory import Direction
from ...lib.merge import Merge
from .axi_channels import connect_axi
from .descriptor_port import DescriptorPort
from .drain_writer import DrainWriter
from .fill_lines import connect_fills
from .fill_port import FillPort
from .layouts import dma_retired, dma_work
from .load_context import TransferContext
from .load_order import LoadOrder
from .read_channel import ReadChannel
from .signature import dma_members
from .write_channel import WriteChannel
from .write_port import WritePort

__all__ = ["Dma"]


class Dma(SharedBlock):
    """DMA engine: executes descriptors of the host (LOAD, STORE) and of matrix units (any).

    Each matrix unit has a port, which also has a block of registers. A port checks descriptors
    one at a time and queues them by kind (`DescriptorPort`). Loads start in order, up to
    `dma.contexts` at a time, share every master round-robin, and complete in order; a FILL is a
    load. STORE, DRAIN, SPILL and REFILL are executed one at a time, in order, in parallel with
    loads. Loads are not ordered with the others: software that needs the order waits for the
    completion. After it the bytes are in shared memory, or the write responses have arrived, or
    the last line of a FILL or REFILL has left for the accumulator or is valid at `fill`.

    Several ports are served round-robin, one descriptor at a time, for loads and for the others.
    Orders hold within a port. The next load of a port thus begins after at most one of each other
    port, and no port waits for descriptors queued at another.

    Each row is cut at multiples of `axi.interleave_bytes` into bursts of whole beats, so none
    crosses a 4 KB boundary. All have id 0 and return in order. The first burst leaves about 16
    cycles after the descriptor. Each master then moves a beat per cycle if DRAM and shared memory
    have equal alignment modulo a beat.

    A refused descriptor (see `DescriptorCheck`) completes with an error and moves nothing. After an
    AXI error response a descriptor completes with an error when all its bursts are done.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    registers : In(RegisterSignature(8)).array(config.ports)
        `address_map.DMA`, for each port.
    descriptor : In(stream.Signature(dma_descriptor(config.shared))).array(units)
        Descriptors of each matrix unit, if there are any.
    drain, drain1, … : In(stream.Signature(8 * drain_bytes))
        Its results, for DRAIN and SPILL, in the order of the descriptors.
    fill, fill1, … : Out(stream.Signature(fill_row(config.shared, fill_bytes)))
        Rows for its accumulator, if it loads D.
    done : Out(ResponseSignature(dma_done)).array(units)
        Completions of its descriptors.
    loading : Out(1)
        Loads are in progress, or queued and about to begin; if there are matrix units.
    axi : Out(Axi4Signature).array(config.axi.masters)
    read : Out(WideReadSignature(config.shared, config.axi.beat_bytes)).array(masters)
    write : Out(WideWriteSignature(config.shared, config.axi.beat_bytes)).array(masters)
    progress : Out(progress_layout(DMA)).array(config.ports), with cores
    busy : Out(1)
        Combinational: a descriptor is held, or any input is valid.
    error : Out(1)
        Any bit of the register `error` of any port is set.
    events : Out(dma_events(config))
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        super().__init__(dma_members(config))

    @property
    def drains(self) -> list[stream.Interface]:
        """Results of the matrix units, which differ in width."""
        return [getattr(self, numbered("drain", n)) for n, _ in enumerate(self.config.drain_bytes)]

    @property
    def fills(self) -> dict[int, stream.Interface]:
        """Rows for the accumulators of the matrix units that load D, by number of the unit."""
        loading = [n for n, size in enumerate(self.config.fill_bytes) if size]
        return {n: getattr(self, numbered("fill", n)) for n in loading}

    def build(self, platform):
        m = Module()
        config = self.config
        ports = [self.port(m, number) for number in range(config.ports)]
        loads = self.in_turns(m, "loads", [port.load for port in ports])
        writes = self.in_turns(m, "writes", [port.write for port in ports])
        contexts = []
        for k in range(config.dma.contexts):
            m.submodules[f"load_{k}"] = context = TransferContext(config)
            contexts.append(context)
        m.submodules.store = store = TransferContext(config)
        writers: list[Any] = [store]
        if config.drain_bytes:
            m.submodules.drain_writer = drain = DrainWriter(config)
            self.take_results(m, drain)
            writers.append(drain)
            loading = [context.active for context in contexts]
            m.d.comb += self.loading.eq(Cat(*loading, loads.valid).any())

        fills = self.fill_port(m) if config.fills else None
        channels = [self.channel(m, c, contexts, writers, fills) for c in range(config.axi.masters)]
        fails = [failed for failed, _ in channels]
        for k, context in enumerate(contexts):
            m.d.comb += context.completions.failed.eq(Cat(failed[k] for failed in fails).any())
        write_fails = Cat(failed for _, failed in channels).any()
        m.d.comb += [writer.completions.failed.eq(write_fails) for writer in writers]

        for context in contexts:
            m.d.comb += context.work.payload.eq(loads.payload)
        order = self.loads_in_turn if len(ports) == 1 else self.loads_by_port
        loaded = order(m, loads, contexts)
        self.begin_writes(m, writes, writers)
        self.retire(m, ports, loaded, writers)

        m.d.comb += self.error.eq(Cat(port.failed for port in ports).any())
        inputs = [port.busy for port in ports] + [loads.valid, writes.valid]
        inputs += [context.active for context in contexts + writers]
        for c in range(config.axi.masters):
            axi = self.axi[c]
            inputs += [axi.rvalid, axi.bvalid, self.read[c].response.valid]
        inputs += [drain.valid for drain in self.drains]
        inputs += [fill.valid for fill in self.fills.values()]
        m.d.comb += self.busy.eq(Cat(inputs).any())
        return m

    def port(self, m: Module, number: int):
        """Build and connect port `number`."""
        port = DescriptorPort(self.config)
        m.submodules[numbered("port", number)] = port
        connect(m, flipped(self.registers[number]), port.registers)
        m.d.comb += port.number.eq(number)
        if self.config.is_multiplexed:
            m.d.comb += self.progress[number].eq(port.progress)
        if self.config.drain_bytes:
            connect(m, flipped(self.descriptor[number]), port.descriptor)
            connect(m, port.done, flipped(self.done[number]))
        return port

    def in_turns(self, m: Module, name: str, streams: Sequence[stream.Interface]):
        """Return the round-robin merge of the descriptors of all ports."""
        if len(streams) == 1:
            return streams[0]
        m.submodules[name] = merge = Merge(dma_work(self.config), len(streams))
        for number, descriptors in enumerate(streams):
            connect(m, descriptors, merge.i[number])
        o = merge.o
        return SimpleNamespace(payload=o.payload.payload, valid=o.valid, ready=o.ready)

    def fill_port(self, m: Module) -> FillPort:
        """Build the port of the accumulators."""
        m.submodules.fill_port = port = FillPort(self.config)
        for number, fill in self.fills.items():
            connect(m, getattr(port, numbered("fill", number)), flipped(fill))
        return port

    def take_results(self, m: Module, writer: DrainWriter):
        """Connect the results of the matrix unit that drains to the writer."""
        with m.Switch(writer.unit):
            for number, drain in enumerate(self.drains):
                with m.Case(number) if len(self.config.drain_bytes) > 1 else m.Default():
                    m.d.comb += [
                        writer.drain.payload.eq(drain.payload),
                        writer.drain.valid.eq(drain.valid),
                        drain.ready.eq(writer.drain.ready),
                    ]

    def loads_in_turn(self, m: Module, loads: Any, contexts: Sequence[TransferContext]):
        """Assign loads to the contexts in rotation; return their completions, in the same order."""
        done = stream.Signature(dma_retired(self.config)).create(path=("loaded",))
        begins, ends = Signal(range(len(contexts))), Signal(range(len(contexts)))
        for k, context in enumerate(contexts):
            following = (k + 1) % len(contexts)
            with m.If(begins == k):
                m.d.comb += [
                    context.work.valid.eq(loads.valid),
                    loads.ready.eq(context.work.ready),
                ]
                with m.If(loads.valid & loads.ready):
                    m.d.sync += begins.eq(following)
            with m.If(ends == k):
                connect(m, context.done, flipped(done))
                with m.If(done.valid & done.ready):
                    m.d.sync += ends.eq(following)
        return done

    def loads_by_port(self, m: Module, loads: Any, contexts: Sequence[TransferContext]):
        """Assign loads to free contexts; return their completions, in order for each port."""
        m.submodules.order = order = LoadOrder(self.config)
        done = stream.Signature(dma_retired(self.config)).create(path=("loaded",))
        m.d.comb += [
            order.active.eq(Cat(context.active for context in contexts)),
            order.done.eq(Cat(context.done.valid for context in contexts)),
            order.begins.eq(loads.valid),
            order.port.eq(loads.payload.port),
            loads.ready.eq(order.chosen.any()),
            done.valid.eq(order.retires.any()),
            order.accept.eq(done.ready),
        ]
        for k, context in enumerate(contexts):
            m.d.comb += [
                context.work.valid.eq(loads.valid & order.chosen[k]),
                context.done.ready.eq(done.ready & order.retires[k]),
            ]
            with m.If(order.retires[k]):
                m.d.comb += done.payload.eq(context.done.payload)
        return done

    def begin_writes(self, m: Module, writes: Any, writers: Sequence[Any]):
        """Begin the next STORE, DRAIN, SPILL or REFILL if none is in progress."""
        free = ~Cat(writer.active for writer in writers).any()
        direction = writes.payload.descriptor.direction
        is_store = (direction == Direction.STORE) | (direction == Direction.REFILL)
        m.d.comb += writes.ready.eq(free)
        for writer, is_own in zip(writers, (is_store, ~is_store), strict=False):
            m.d.comb += [
                writer.work.payload.eq(writes.payload),
                writer.work.valid.eq(writes.valid & free & is_own),
            ]

    def retire(
        self, m: Module, ports: Sequence[DescriptorPort], loaded: Any, writers: Sequence[Any]
    ):
        """Report one completion per cycle to its port: a write first, then a load."""
        retired = Signal(dma_retired(self.config))
        valid = Signal()
        m.d.comb += [retired.eq(loaded.payload), valid.eq(loaded.valid), loaded.ready.eq(1)]
        for writer in writers:
            with m.If(writer.done.valid):
                m.d.comb += [
                    retired.eq(writer.done.payload),
                    valid.eq(1),
                    writer.done.ready.eq(1),
                    loaded.ready.eq(0),
                ]
        m.d.comb += self.events.descriptors.eq(valid)
        for number, port in enumerate(ports):
            m.d.comb += [
                port.retired.payload.eq(retired),
                port.retired.valid.eq(valid & (retired.port == number)),
            ]

    def channel(
        self,
        m: Module,
        c: int,
        contexts: Sequence[TransferContext],
        writers: Sequence[Any],
        fills: FillPort | None,
    ):
        """Build one master; return its read errors per context, and its write error."""
        config = self.config
        m.submodules[f"read_channel_{c}"] = read = ReadChannel(config)
        m.submodules[f"write_channel_{c}"] = write = WriteChannel(config)
        m.submodules[f"write_port_{c}"] = port = WritePort(config)
        axi = self.axi[c]
        for k, context in enumerate(contexts):
            connect(m, getattr(context, f"segment_{c}"), getattr(read, f"segment_{k}"))
            m.d.comb += context.completions.finished[c].eq(port.finished[k])
        connect(m, read.line, port.load)
        connect(m, port.write, flipped(self.write[c]))
        connect(m, write.read, flipped(self.read[c]))
        store, *drains = writers
        connect(m, getattr(store, f"segment_{c}"), write.segment)
        m.d.comb += store.completions.finished[c].eq(axi.bvalid)
        for drain in drains:
            connect(m, getattr(drain, f"line_{c}"), write.line)
            connect(m, getattr(drain, f"spill_{c}"), port.spill)
            m.d.comb += drain.completions.finished[c].eq(
                axi.bvalid | port.finished[config.dma.contexts]
            )
        if fills is not None:
            connect_fills(m, c, contexts, store, write, port, fills)
        connect_axi(m, axi, read, write)
        m.d.comb += [
            self.events[f"read_beats_{c}"].eq(axi.rvalid & axi.rready),
            self.events[f"write_beats_{c}"].eq(axi.wvalid & axi.wready),
            self.events[f"read_wait_{c}"].eq(read.waits),
            self.events[f"write_wait_{c}"].eq(
                (axi.awvalid & ~axi.awready) | (axi.wvalid & ~axi.wready)
            ),
        ]
        return read.failed, axi.bvalid & axi.bresp[1]
