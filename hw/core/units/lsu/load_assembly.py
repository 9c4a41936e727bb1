"""Load assembly: collects the parts of an access into the result of a whole warp."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ....config import PipelineConfig
from ....emit.component import Component
from ....lib.interfaces.execution_unit import result_layout
from ....lib.sram import MemoryPorts, Sram
from ....lib.streams import Queue, ResponseSignature
from .memory_layouts import access_layout, arrival_layout, part_layout, slot_shape, slots

__all__ = ["LoadAssembly"]


class LoadAssembly(Component):
    """Load assembly: results in the order of arrival of the last parts of their accesses.

    One result per cycle. A whole access leaves one cycle after its part if nothing waits before
    it. Otherwise its values are stored, and the result leaves two cycles after its last part
    (three with more than 16 slots) if nothing waits before it. Parts never stall.

    `arriving` announces a result in the cycle of its last part if nothing waits before it, and
    any result while it is offered, unless another one is announced.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    part : In(ResponseSignature(part_layout(config)))
        Each thread of an access arrives in exactly one of its parts.
    released : Out(ResponseSignature(slot_shape(config)))
        A slot with no stored data left.
    arriving : Out(ResponseSignature(arrival_layout(config)))
        Independent of `o.ready`.
    o : Out(stream.Signature(result_layout(config)))
        Values of threads outside `mask` are undefined.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "part": In(ResponseSignature(part_layout(config))),
            "released": Out(ResponseSignature(slot_shape(config))),
            "arriving": Out(ResponseSignature(arrival_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        waiting = data.StructLayout({"slot": slot_shape(config), "access": access_layout(config)})
        m.submodules.order = queue = Queue(waiting, slots(config))
        m.submodules.store = memory = Sram(
            depth=max(2, slots(config)), width=32 * config.threads, granularity=32
        )
        order, store = queue.signature.flip().create(path=("order",)), MemoryPorts(memory, "store")
        connect(m, order, queue)
        connect(m, store, memory)
        part = self.part.payload
        result_valid = Signal()
        result_kept = Signal(reset_less=True)  # the values are those read from the store
        result_access = Signal(access_layout(config), reset_less=True)
        result_values = Signal(32 * config.threads, reset_less=True)
        open_way, passes, fetches = Signal(), Signal(), Signal()
        m.d.comb += [
            open_way.eq(self.o.ready | ~result_valid),
            fetches.eq(open_way & order.o.valid),
            passes.eq(
                self.part.valid & part.whole & part.completes & open_way & ~order.level.any()
            ),
            order.i.valid.eq(self.part.valid & part.completes & ~passes),
            order.i.payload.slot.eq(part.slot),
            order.i.payload.access.eq(part.access),
            order.o.ready.eq(open_way),
            store.write.mask.eq(
                Mux(self.part.valid & part.access.writes & ~passes, part.threads, 0)
            ),
            store.write.address.eq(part.slot),
            store.write.data.eq(part.values),
            store.read.valid.eq(fetches),
            store.read.payload.eq(order.o.payload.slot),
            self.released.valid.eq(fetches | passes),
            self.released.payload.eq(Mux(passes, part.slot, order.o.payload.slot)),
        ]
        with m.If(open_way):
            m.d.sync += [
                result_valid.eq(fetches | passes),
                result_kept.eq(fetches),
                result_access.eq(Mux(fetches, order.o.payload.access, part.access)),
            ]
        with m.If(passes):
            m.d.sync += result_values.eq(part.values)
        m.d.comb += [
            self.o.valid.eq(result_valid),
            self.o.payload.values.eq(Mux(result_kept, store.data, result_values)),
            *(
                self.o.payload[name].eq(result_access[name])
                for name in ("warp", "mask", "pc", "rd", "writes")
            ),
        ]
        self.announce(m, self.part.valid & part.completes & ~order.level.any())
        return m

    def announce(self, m: Module, arrives: Value):
        """Announce the access of the part that `arrives`, or else the result that is offered."""
        access = self.part.payload.access
        is_next = Signal()
        m.d.comb += [
            is_next.eq(arrives & access.writes),
            self.arriving.valid.eq(is_next | (self.o.valid & self.o.payload.writes)),
            *(
                self.arriving.payload[name].eq(Mux(is_next, access[name], self.o.payload[name]))
                for name in ("warp", "rd")
            ),
        ]
