"""Port of one core to the register bus of the DMA and the matrix units."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import SHARED_BASE, WINDOW_BYTES
from ...lib.interfaces.core_memory import data_response_layout
from ...lib.one_hot import select
from ...lib.register_bus import RegisterSignature
from ...lib.streams import Queue
from .layouts import WINDOW_WIDTH, device_layout, group_layout

__all__ = ["UnitRegisterPort"]


class UnitRegisterPort(SharedBlock):
    """Register port: performs accesses to unit registers one at a time, in order.

    | cycle | event                                                                     |
    |-------|---------------------------------------------------------------------------|
    | 0     | a group of one lane is accepted                                           |
    | 2     | `registers.request`, if none is before it (cycle 1 with up to 16 entries) |
    | n     | it is accepted                                                            |
    | n + 1 | its answer is at `o`                                                      |
    | n + 2 | the next request, if the answer was accepted                              |

    The queue holds every access that a core may have in flight. `i` is thus never refused, and a
    unit that stalls an access delays no other work of the core.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    i : In(stream.Signature(group_layout(config)))
        Groups of one lane each.
    registers : Out(RegisterSignature(14))
        Byte addresses in the window of registers.
    o : Out(stream.Signature(data_response_layout(config.core)))
    busy : Out(1)
        Accesses wait or are in flight.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(group_layout(config))),
            "registers": Out(RegisterSignature(WINDOW_WIDTH)),
            "o": Out(stream.Signature(data_response_layout(config.core))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, core = self.config, self.config.core
        layout = device_layout(config)
        m.submodules.waiting = waiting = Queue(layout, core.lane_accesses)
        access: Any = stream.Signature(layout).create()
        connect(m, access, waiting.i)
        group = self.i.payload
        numbers = range(config.core.request_lanes)
        m.d.comb += [
            *(access.payload[name].eq(group[name]) for name in ("tag", "is_store", "lanes")),
            access.payload.place.eq(select(group.lanes, [group.places[lane] for lane in numbers])),
            access.payload.data.eq(select(group.lanes, [group.data[lane] for lane in numbers])),
            access.valid.eq(self.i.valid),
            self.i.ready.eq(access.ready),
        ]
        request, response = self.registers.request, self.registers.response
        first = waiting.o.payload
        # The window may start at an address that is no multiple of its size: subtract the offset.
        ahead = (SHARED_BASE + config.shared.size) % WINDOW_BYTES
        low = exact_log2(WORD_BYTES)
        requested, held = Signal(), Signal()
        held_answer = Signal.like(response.payload, reset_less=True)
        answer = Signal.like(response.payload)
        m.d.comb += [
            request.valid.eq(waiting.o.valid & ~requested & ~held),
            request.payload.address.eq(Cat(C(0, low), first.place) - ahead),
            request.payload.write.eq(first.is_store),
            request.payload.data.eq(Mux(first.is_store, first.data, 0)),
            answer.eq(Mux(held, held_answer, response.payload)),
            self.o.valid.eq(held | response.valid),
            self.o.payload.tag.eq(first.tag),
            self.o.payload.mask.eq(first.lanes),
            self.o.payload.error.eq(Mux(answer.error, first.lanes, 0)),
            *(self.o.payload.data[lane].eq(answer.data) for lane in numbers),
            waiting.o.ready.eq(self.o.valid & self.o.ready),
            self.busy.eq(waiting.level.any()),
        ]
        m.d.sync += [
            requested.eq(request.valid & request.ready),
            held.eq(self.o.valid & ~self.o.ready),
        ]
        with m.If(response.valid):
            m.d.sync += held_answer.eq(response.payload)
        return m
