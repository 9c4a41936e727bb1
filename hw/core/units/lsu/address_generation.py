"""Address generation: splits a warp's access into requests of one beat of lanes."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ....config import PipelineConfig
from ....emit.component import Component
from ....isa.operations import ATOMIC_OPERATION_BIT, OPERATION_WIDTH, AtomicOperation, Port
from ....lib.carry_select import add_in_halves
from ....lib.interfaces.core_memory import data_request_layout
from ....lib.interfaces.execution_unit import operation_layout
from ....lib.interfaces.memory_fault import MemoryFault
from ....lib.streams import ResponseSignature
from .address import is_atomic, is_misaligned, is_store, is_unaddressable, store_strobes, store_word
from .memory_layouts import (
    access_layout,
    beat_width,
    beats,
    opening_layout,
    slot_shape,
    slots,
    suspect_layout,
)

__all__ = ["AddressGeneration"]


class AddressGeneration(Component):
    """Address generation: operand 0 + immediate per thread, then requests, lowest threads first.

    The first request is one cycle after acceptance, then one per cycle. An instruction ends with
    its last request that has an active thread; the next may be accepted in that cycle. A beat
    without an active thread sends no request, but takes its cycle. Instructions are requested in
    the order of acceptance. One with a faulty address is not requested at all: it stays at
    `suspect` until that is accepted.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
        Loads and stores: operand 0 is the base, operand 1 the stored value. `mask` is never 0.
        Of an atomic, operand 0 is the address, operand 2 the expected value of a compare-and-swap.
    slot_free, slot : In(1), In(slot_shape(config))
        Slot of the pending-request table for the next instruction; `i` stalls without one.
    opening : Out(ResponseSignature(opening_layout(config)))
        An access, in the first cycle in which it may be requested.
    request : Out(stream.Signature(data_request_layout(config)))
    suspect : Out(stream.Signature(suspect_layout(config)))
        An instruction that is not requested, with its fault: all threads of the lowest's kind.
    suspect_slot : Out(slot_shape(config))
        Its slot.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "slot_free": In(1),
            "slot": In(slot_shape(config)),
            "opening": Out(ResponseSignature(opening_layout(config))),
            "request": Out(stream.Signature(data_request_layout(config))),
            "suspect": Out(stream.Signature(suspect_layout(config))),
            "suspect_slot": Out(slot_shape(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes = config.lanes(Port.MEMORY)
        words = data.ArrayLayout(32, config.threads)
        request_valid = Signal()  # an instruction is held
        request_first = Signal()  # for the first cycle
        request_slot = Signal(slot_shape(config), reset_less=True)
        request_access = Signal(access_layout(config), reset_less=True)
        request_operation = Signal(OPERATION_WIDTH, reset_less=True)
        # Shifted beat by beat: the next beat is in the lowest lanes.
        request_mask = Signal(config.threads, reset_less=True)
        request_addresses = Signal(words, reset_less=True)
        request_values = Signal(words, reset_less=True)
        beat = Signal(beat_width(config), reset_less=True)

        suspect = self.check(m, request_operation, request_mask, request_addresses)
        offered, last, moves, ends = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            offered.eq(request_valid & ~suspect),
            last.eq(~request_mask[lanes:].any()),
            self.request.valid.eq(offered & request_mask[:lanes].any()),
            moves.eq(offered & (self.request.ready | ~request_mask[:lanes].any())),
            self.suspect.valid.eq(request_valid & suspect),
            ends.eq((moves & last) | (self.suspect.valid & self.suspect.ready)),
            self.i.ready.eq(self.slot_free & (ends | ~request_valid)),
            self.suspect_slot.eq(request_slot),
            self.suspect.payload.warp.eq(request_access.warp),
            self.suspect.payload.pc.eq(request_access.pc),
            self.suspect.payload.addresses.eq(request_addresses),
            self.opening.valid.eq(offered & request_first),
            self.opening.payload.slot.eq(request_slot),
            self.opening.payload.access.eq(request_access),
            self.opening.payload.operation.eq(request_operation),
        ]
        self.form_request(
            m, Cat(request_slot[: (slots(config) - 1).bit_length()], beat), request_operation,
            request_mask, request_addresses, request_values,
        )  # fmt: skip
        if config.atomics:
            self.form_atomic(m, moves, request_operation, Cat(beat, request_access.warp))

        accepted = self.i.payload
        m.d.sync += request_first.eq(0)
        with m.If(ends):
            m.d.sync += request_valid.eq(0)
        with m.If(self.i.ready):
            m.d.sync += [
                request_valid.eq(self.i.valid),
                request_first.eq(self.i.valid),
                request_slot.eq(self.slot),
                request_operation.eq(accepted.operation),
                request_mask.eq(accepted.mask),
                request_addresses.eq(Cat(self.address(k) for k in range(config.threads))),
                request_values.eq(accepted.operands[1]),
                beat.eq(0),
                *(
                    request_access[name].eq(accepted[name])
                    for name in ("warp", "mask", "pc", "rd", "writes")
                ),
            ]
        if beats(config) > 1:
            with m.Elif(moves):
                m.d.sync += [
                    request_mask.eq(request_mask >> lanes),
                    Value.cast(request_addresses).eq(Value.cast(request_addresses) >> 32 * lanes),
                    Value.cast(request_values).eq(Value.cast(request_values) >> 32 * lanes),
                    beat.eq(beat + 1),
                ]
        return m

    def address(self, thread: int) -> Value:
        """Return the address of a thread of the instruction being accepted."""
        accepted = self.i.payload
        offset = accepted.immediate
        if self.config.atomics:
            offset = offset & ~is_atomic(accepted.operation).replicate(len(offset))
        return add_in_halves(accepted.operands[0][thread], offset, 32)

    def check(self, m: Module, operation: Value, mask: Value, addresses: data.View) -> Signal:
        """Find the threads at fault, and return 1 if there are any."""
        threads = [addresses[k] for k in range(self.config.threads)]
        misaligned, outside = Signal(len(mask)), Signal(len(mask))
        wrong, lowest_is_misaligned = Signal(len(mask)), Signal()
        any_wrong = Signal()
        m.d.comb += [
            misaligned.eq(mask & is_misaligned(operation, threads)),
            outside.eq(mask & is_unaddressable(threads) & ~misaligned),
            wrong.eq(misaligned | outside),
            any_wrong.eq(wrong.any()),
            lowest_is_misaligned.eq((misaligned & -wrong).any()),
            self.suspect.payload.mask.eq(Mux(lowest_is_misaligned, misaligned, outside)),
            self.suspect.payload.kind.eq(
                Mux(lowest_is_misaligned, MemoryFault.MISALIGNED, MemoryFault.UNADDRESSABLE)
            ),
        ]
        return any_wrong

    def form_request(
        self,
        m: Module,
        tag: Value,
        operation: Value,
        mask: Value,
        addresses: data.View,
        values: data.View,
    ):
        """Drive the request from the lowest lanes of the held instruction."""
        request = self.request.payload
        lanes = self.config.lanes(Port.MEMORY)
        m.d.comb += [
            request.tag.eq(tag),
            request.is_store.eq(is_store(operation)),
            request.mask.eq(mask[:lanes]),
        ]
        for lane in range(lanes):
            m.d.comb += [
                request.address[lane].eq(addresses[lane]),
                request.data[lane].eq(store_word(operation, values[lane])),
                request.strobes[lane].eq(store_strobes(operation, addresses[lane])),
            ]

    def form_atomic(self, m: Module, moves: Value, operation: Value, owner: Value):
        """Drive the fields of an atomic request from the held instruction."""
        request, accepted, lanes = self.request.payload, self.i.payload, self.request.payload.mask
        # Shifted like the values.
        expected = Signal(data.ArrayLayout(32, self.config.threads), reset_less=True)
        atomic_operation = Signal(AtomicOperation, reset_less=True)
        m.d.comb += [
            request.atomic.eq(is_atomic(operation)),
            request.operation.eq(atomic_operation),
            request.owner.eq(owner),
            *(
                request.expected[lane].eq(store_word(operation, expected[lane]))
                for lane in range(len(lanes))
            ),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                Value.cast(atomic_operation).eq(accepted.immediate[ATOMIC_OPERATION_BIT:]),
                expected.eq(accepted.operands[2]),
            ]
        if beats(self.config) > 1:
            with m.Elif(moves):
                m.d.sync += Value.cast(expected).eq(Value.cast(expected) >> 32 * len(lanes))
