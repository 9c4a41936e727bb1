"""Descriptor port of the DMA: a block of registers and the matrix unit's requests."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import DMA
from ...lib.interfaces.progress import progress_layout
from ...lib.interfaces.shared_memory import Direction, dma_descriptor, dma_done
from ...lib.merge import Merge
from ...lib.register_bus import RegisterSignature
from ...lib.streams import Queue, ResponseSignature
from .descriptor_check import DescriptorCheck
from .layouts import dma_request, dma_retired, dma_work, port_width
from .registers import DmaRegisters

__all__ = ["DescriptorPort"]


class DescriptorPort(SharedBlock):
    """Descriptor port: checks descriptors of both requesters and queues them by kind.

    The requesters are served round-robin; each receives its completions. A descriptor is in its
    queue 4 cycles after it was accepted, and one more per bit of ``rows - 1``; one is checked at
    a time. A checked descriptor whose queue is full stalls those after it, of this port only.
    Order is kept within a requester.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    number : In(port_width(config))
        Number of this port.
    registers : In(RegisterSignature(8))
    descriptor : In(stream.Signature(dma_descriptor(config.shared)))
        Descriptors of the matrix unit, if there is one.
    done : Out(ResponseSignature(dma_done))
        Completions of the descriptors of `descriptor`.
    load : Out(stream.Signature(dma_work(config)))
        Every LOAD and FILL.
    write : Out(stream.Signature(dma_work(config)))
        All others.
    retired : In(ResponseSignature(dma_retired(config)))
        Each descriptor of this port that completes.
    progress : Out(progress_layout(DMA))
        Descriptors of the registers, if there are cores.
    failed : Out(1)
        Any bit of the register `error` is set.
    busy : Out(1)
        Combinational: a descriptor is held, or any input is valid.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        members: dict[str, Any] = {
            "number": In(port_width(config)),
            "registers": In(RegisterSignature(8)),
        }
        if config.drain_bytes:
            members |= {
                "descriptor": In(stream.Signature(dma_descriptor(config.shared))),
                "done": Out(ResponseSignature(dma_done)),
            }
        if config.is_multiplexed:
            members["progress"] = Out(progress_layout(DMA))
        work = stream.Signature(dma_work(config))
        super().__init__(
            members
            | {
                "load": Out(work),
                "write": Out(work),
                "retired": In(ResponseSignature(dma_retired(config))),
                "failed": Out(1),
                "busy": Out(1),
            }
        )

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.registers = registers = DmaRegisters(config)
        m.submodules.askers = askers = Merge(dma_request(config), 2 if config.drain_bytes else 1)
        m.submodules.check = check = DescriptorCheck(config)
        m.submodules.load_queue = loads = Queue(dma_work(config), config.dma.queue)
        m.submodules.write_queue = writes = Queue(dma_work(config), config.dma.queue)
        connect(m, flipped(self.registers), registers.registers)
        host, *matrix = askers.i
        connect(m, registers.request, host)
        connect(m, loads.o, flipped(self.load))
        connect(m, writes.o, flipped(self.write))
        m.d.comb += [
            registers.retired.valid.eq(self.retired.valid),
            registers.retired.payload.eq(self.retired.payload),
            self.failed.eq(registers.failed),
            check.i.payload.eq(askers.o.payload.payload),
            check.i.valid.eq(askers.o.valid),
            askers.o.ready.eq(check.i.ready),
        ]
        work = check.o
        checked = Signal(dma_work(config))
        is_load = Signal()
        m.d.comb += [
            checked.eq(work.payload),
            checked.port.eq(self.number),
            is_load.eq(
                (checked.descriptor.direction == Direction.LOAD)
                | (checked.descriptor.direction == Direction.FILL)
            ),
            loads.i.payload.eq(checked),
            writes.i.payload.eq(checked),
            loads.i.valid.eq(work.valid & is_load),
            writes.i.valid.eq(work.valid & ~is_load),
            work.ready.eq(Mux(is_load, loads.i.ready, writes.i.ready)),
        ]
        if config.is_multiplexed:
            m.d.comb += self.progress.eq(registers.progress)
        inputs = [registers.registers.response.valid, self.registers.request.valid]
        inputs += [askers.o.valid, ~check.i.ready, loads.o.valid, writes.o.valid]
        if config.drain_bytes:
            inputs.append(self.descriptor.valid)
            self.serve_matrix(m, *matrix)
        m.d.comb += self.busy.eq(Cat(inputs).any())
        return m

    def serve_matrix(self, m: Module, asker: stream.Interface):
        """Connect the matrix unit's descriptors and completions."""
        descriptor, retired = self.descriptor.payload, self.retired.payload
        m.d.comb += [
            asker.valid.eq(self.descriptor.valid),
            self.descriptor.ready.eq(asker.ready),
            *(asker.payload[name].eq(descriptor[name]) for name, _ in descriptor.shape()),
            self.done.valid.eq(self.retired.valid & ~retired.host),
            self.done.payload.tag.eq(retired.tag),
            self.done.payload.direction.eq(retired.direction),
            self.done.payload.error.eq(retired.failed | retired.refused),
        ]
