"""Pending-request table of the load-store unit."""

from amaranth import *
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from ....config import PipelineConfig
from ....emit.component import Component
from ....isa.operations import Port
from ....lib.interfaces.core_memory import data_response_layout, warp_shape
from ....lib.interfaces.memory_fault import MemoryFault
from ....lib.one_hot import lowest
from ....lib.sram import MemoryPorts, Sram
from ....lib.streams import ResponseSignature
from .address import load_values
from .memory_layouts import (
    access_layout,
    beats,
    opening_layout,
    part_layout,
    row_layout,
    rows,
    slot_shape,
    slots,
    suspect_layout,
)

__all__ = ["PendingRequestTable"]


class PendingRequestTable(Component):
    """Pending-request table: slots of accesses, each with its unanswered threads.

    `part`, `refused` and `ended` follow the response by one cycle, at one response per cycle. A
    response covers only unanswered threads of a request sent in an earlier cycle.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    slot_free, slot : Out(1), Out(slot_shape(config))
        An unused slot, if there is one.
    take : In(1)
        Allocates `slot`.
    opening : In(ResponseSignature(opening_layout(config)))
        Access to store in an allocated slot.
    row : In(ResponseSignature(row_layout(config)))
        A request as it leaves: in the cycle of its access's `opening` or later.
    response : In(ResponseSignature(data_response_layout(config)))
    part : Out(ResponseSignature(part_layout(config)))
        Loaded values of the answered threads, extended to 32 bits.
    refused : Out(ResponseSignature(suspect_layout(config)))
        Threads of this part that addressed no memory. Their access has no result.
    ended : Out(ResponseSignature(warp_shape(config)))
        All threads of an access of this warp have been answered.
    released : In(ResponseSignature(slot_shape(config)))
        Slot whose result has been written back.
    dropped : In(ResponseSignature(slot_shape(config)))
        Slot whose access is cancelled before its first request; not while `part` is valid.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "slot_free": Out(1),
            "slot": Out(slot_shape(config)),
            "take": In(1),
            "opening": In(ResponseSignature(opening_layout(config))),
            "row": In(ResponseSignature(row_layout(config))),
            "response": In(ResponseSignature(data_response_layout(config))),
            "part": Out(ResponseSignature(part_layout(config))),
            "refused": Out(ResponseSignature(suspect_layout(config))),
            "ended": Out(ResponseSignature(warp_shape(config))),
            "released": In(ResponseSignature(slot_shape(config))),
            "dropped": In(ResponseSignature(slot_shape(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes = config.lanes(Port.MEMORY)
        slot_width = ceil_log2(slots(config))
        answer_valid = Signal()
        answer = Signal(data_response_layout(config), reset_less=True)
        answer_slot = answer.tag[:slot_width]
        m.d.sync += answer_valid.eq(self.response.valid)
        with m.If(self.response.valid):
            m.d.sync += answer.eq(self.response.payload)
        record, answer_addresses = self.remember(m)
        width = access_layout(config).size
        answer_access, answer_operation = access_layout(config)(record[:width]), record[width:]

        threads, error = Signal(config.threads), Signal(config.threads)
        m.d.comb += [
            threads.eq(self.threads_of(answer.mask, answer.tag[slot_width:])),
            error.eq(self.threads_of(answer.error & answer.mask, answer.tag[slot_width:])),
        ]
        last, failed = self.count_down(m, answer_valid, answer_slot, threads, error)

        part, refused = self.part.payload, self.refused.payload
        addresses = [answer_addresses.word_select(lane, 32) for lane in range(lanes)]
        m.d.comb += [
            self.part.valid.eq(answer_valid),
            part.slot.eq(answer_slot),
            part.access.eq(answer_access),
            part.threads.eq(threads),
            part.whole.eq(threads == answer_access.mask),
            part.completes.eq(last & ~failed),
            part.values.eq(
                load_values(
                    m, answer_operation, addresses, [answer.data[lane] for lane in range(lanes)]
                ).replicate(beats(config))
            ),
            self.refused.valid.eq(answer_valid & error.any()),
            refused.warp.eq(answer_access.warp),
            refused.pc.eq(answer_access.pc),
            refused.mask.eq(error),
            refused.kind.eq(MemoryFault.REFUSED),
            refused.addresses.eq(answer_addresses.replicate(beats(config))),
            self.ended.valid.eq(answer_valid & last),
            self.ended.payload.eq(answer_access.warp),
        ]
        self.account(m, answer_valid & last & failed, answer_slot)
        return m

    def threads_of(self, lane_mask: Value, beat: Value) -> Value:
        """Return the thread mask of a mask of lanes in a beat."""
        if beats(self.config) == 1:
            return lane_mask
        return Cat(
            lane_mask & (beat == number).replicate(len(lane_mask))
            for number in range(beats(self.config))
        )

    def remember(self, m: Module) -> tuple[Value, Value]:
        """Store `opening` and `row`; return access and addresses of the last cycle's response."""
        config = self.config
        slot_width = ceil_log2(slots(config))
        tag_width = ceil_log2(rows(config))
        m.submodules.accesses = access_memory = Sram(
            depth=max(2, slots(config)), width=access_layout(config).size + 3
        )
        m.submodules.addresses = address_memory = Sram(
            depth=max(2, rows(config)), width=32 * config.lanes(Port.MEMORY)
        )
        accesses = MemoryPorts(access_memory, "accesses")
        addresses = MemoryPorts(address_memory, "addresses")
        connect(m, accesses, access_memory)
        connect(m, addresses, address_memory)
        opening, row = self.opening.payload, self.row.payload
        m.d.comb += [
            accesses.write.mask.eq(self.opening.valid),
            accesses.write.address.eq(opening.slot),
            accesses.write.data.eq(Cat(opening.access, opening.operation)),
            accesses.read.valid.eq(self.response.valid),
            accesses.read.payload.eq(self.response.payload.tag[:slot_width]),
            addresses.write.mask.eq(self.row.valid),
            addresses.write.address.eq(row.tag[:tag_width]),
            addresses.write.data.eq(row.addresses),
            addresses.read.valid.eq(self.response.valid),
            addresses.read.payload.eq(self.response.payload.tag[:tag_width]),
        ]
        return accesses.data, addresses.data

    def count_down(
        self, m: Module, valid: Value, slot: Value, threads: Value, error: Value
    ) -> tuple[Signal, Signal]:
        """Clear the answered threads; return whether none is left, and whether any was refused.

        All slots share one word, each slot at a multiple of a power of two: one shift selects a
        slot.
        """
        config = self.config
        at_multiple = Const(0, config.thread_width)
        outstanding = Signal(slots(config) << config.thread_width)
        failing = Signal(slots(config))
        opening = self.opening.payload
        opened, answered = Signal(config.threads), Signal(config.threads)
        last, failed = Signal(), Signal()
        m.d.comb += [
            opened.eq(Mux(self.opening.valid, opening.access.mask, 0)),
            answered.eq(Mux(valid, threads, 0)),
            last.eq(
                ~(outstanding.bit_select(Cat(at_multiple, slot), config.threads) & ~threads).any()
            ),
            failed.eq(failing.bit_select(slot, 1) | error.any()),
        ]
        opens = (self.opening.valid << opening.slot)[: len(failing)]
        fails = ((valid & error.any()) << slot)[: len(failing)]
        m.d.sync += [
            outstanding.eq(
                (outstanding & ~(answered << Cat(at_multiple, slot)))
                | (opened << Cat(at_multiple, opening.slot))
            ),
            failing.eq((failing & ~opens) | fails),
        ]
        return last, failed

    def account(self, m: Module, fails: Value, failed_slot: Value):
        """Track the used slots and offer a free one."""
        used = Signal(slots(self.config))
        free = Signal(len(used))  # one-hot
        dropped, dropped_slot = Signal(), Signal(slot_shape(self.config))
        m.d.comb += [
            free.eq(lowest(~used)),
            self.slot_free.eq(~used.all()),
            dropped.eq(self.dropped.valid | fails),
            dropped_slot.eq(Mux(self.dropped.valid, self.dropped.payload, failed_slot)),
        ]
        for bit in range(ceil_log2(len(used))):
            named = Cat(free[number] for number in range(len(used)) if number >> bit & 1)
            m.d.comb += self.slot[bit].eq(named.any())
        m.d.sync += used.eq(
            (used | Mux(self.take, free, 0))
            & ~(self.released.valid << self.released.payload)
            & ~(dropped << dropped_slot)
        )
