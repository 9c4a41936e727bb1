"""Registers of the DMA: descriptors of the host, and their results."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import DMA
from ...lib.interfaces.progress import progress_layout
from ...lib.interfaces.shared_memory import Direction
from ...lib.register_bus import RegisterSignature
from ...lib.streams import ResponseSignature
from .layouts import dma_request, dma_retired

__all__ = ["DmaRegisters"]


class DmaRegisters(SharedBlock):
    """Register block: holds the fields of the next descriptor, starts it, counts completions.

    A write of `start` stalls until `request` is accepted; any other access takes one cycle. The
    response reports an error, without any effect, for an access outside the registers, a read of
    a write-only register, a write of a read-only one, and a `start` other than 0 or 1.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    registers : In(RegisterSignature(8))
    request : Out(stream.Signature(dma_request(config)))
    retired : In(ResponseSignature(dma_retired(config)))
        Each descriptor of this port that completes, of any requester.
    progress : Out(progress_layout(DMA))
        Descriptors of these registers, if there are cores.
    failed : Out(1)
        Any bit of the register `error` is set.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        progress = {"progress": Out(progress_layout(DMA))} if config.is_multiplexed else {}
        super().__init__({
            **progress,
            "registers": In(RegisterSignature(8)),
            "request": Out(stream.Signature(dma_request(config))),
            "retired": In(ResponseSignature(dma_retired(config))),
            "failed": Out(1),
        })

    def build(self, platform):
        m = Module()
        access, response = self.registers.request, self.registers.response
        values = {
            name: Signal(32, name=name)
            for name in ("dram", "dram_pitch", "local", "local_pitch", "shape", "fill")
        }
        starts, starts_store = Signal(), Signal()
        m.d.comb += [
            starts.eq(
                access.valid
                & access.payload.write
                & (access.payload.address == DMA["start"].offset)
                & (access.payload.data <= 1)
            ),
            starts_store.eq(access.payload.data[0]),
            self.request.valid.eq(starts),
            access.ready.eq(~starts | self.request.ready),
        ]
        descriptor = self.request.payload
        m.d.comb += [descriptor[name].eq(values[name]) for name in ("dram", "dram_pitch")]
        m.d.comb += [descriptor[name].eq(values[name]) for name in ("local", "local_pitch")]
        m.d.comb += [
            Cat(descriptor.rows, descriptor.bytes).eq(values["shape"]),
            Cat(descriptor.fill_rows, descriptor.fill_bytes).eq(values["fill"]),
            descriptor.direction.eq(Mux(starts_store, Direction.STORE, Direction.LOAD)),
            descriptor.host.eq(1),
        ]
        clears = Signal()
        results = self.count(m, starts & self.request.ready, clears)

        m.d.sync += response.valid.eq(access.valid & access.ready)
        m.d.sync += [response.payload.data.eq(0), response.payload.error.eq(0)]
        with m.If(access.valid & access.payload.write), m.Switch(access.payload.address):
            for name, value in values.items():
                with m.Case(DMA[name].offset):
                    m.d.sync += value.eq(access.payload.data)
            with m.Case(DMA["start"].offset):
                m.d.sync += response.payload.error.eq(access.payload.data > 1)
            with m.Case(DMA["error"].offset):
                m.d.comb += clears.eq(1)
            with m.Default():
                m.d.sync += response.payload.error.eq(1)
        with m.Elif(access.valid), m.Switch(access.payload.address):
            for name, value in (values | results).items():
                with m.Case(DMA[name].offset):
                    m.d.sync += response.payload.data.eq(value)
            with m.Default():
                m.d.sync += response.payload.error.eq(1)
        return m

    def count(self, m: Module, started: Value, clears: Value):
        """Return the registers with the results of the host's descriptors."""
        running = Signal(8)
        loads_done, stores_done = Signal(32), Signal(32)
        error = Signal(2)
        retired = self.retired.payload
        ends = self.retired.valid & retired.host
        # An error in the same cycle as a clear is kept.
        events = Cat(retired.failed, retired.refused) & ends.replicate(2)
        m.d.sync += [
            running.eq(running + started - ends),
            error.eq(Mux(clears, 0, error) | events),
        ]
        m.d.comb += self.failed.eq(error.any())
        if self.config.is_multiplexed:
            m.d.comb += [
                self.progress.running.eq(running),
                self.progress.loads_done.eq(loads_done),
                self.progress.stores_done.eq(stores_done),
            ]
        with m.If(ends):
            with m.If(retired.direction == Direction.LOAD):
                m.d.sync += loads_done.eq(loads_done + 1)
            with m.Else():
                m.d.sync += stores_done.eq(stores_done + 1)
        return {
            "running": running,
            "loads_done": loads_done,
            "stores_done": stores_done,
            "error": error,
        }
