"""Load-store unit of a core: loads, stores and atomics of whole warps."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from ....config import PipelineConfig
from ....emit.component import Component
from ....lib.interfaces.core_memory import data_request_layout, data_response_layout, warp_shape
from ....lib.interfaces.execution_unit import operation_layout, result_layout
from ....lib.interfaces.memory_fault import memory_fault_layout
from ....lib.one_hot import lowest, select
from ....lib.streams import ResponseSignature
from .address_generation import AddressGeneration
from .load_assembly import LoadAssembly
from .memory_layouts import arrival_layout, slots
from .pending_request_table import PendingRequestTable

__all__ = ["LoadStoreUnit"]


class LoadStoreUnit(Component):
    """Load-store unit: executes `MemoryOperation` for the active threads of a warp.

    Requests leave in the order of acceptance, lowest threads first, one per cycle: an instruction
    takes ``ceil(threads / lanes)`` cycles, fewer if its upper threads are inactive. Up to
    `memory_layouts.slots` instructions may be in flight; beyond that `i` stalls. A memory latency
    of l cycles is hidden by l + 3 slots, or by (l + 3) / b + 1 slots if instructions take b > 1
    cycles. `i.ready` depends on `request.ready` combinationally.

    Memory must apply requests to the same word in the order in which it accepts them, and within a
    request lane by lane, lowest first. Then accesses of a warp to one address take effect in
    program order, and among threads of one instruction that store to one address the highest wins.
    Responses may come in any order and in parts, each thread once, from the cycle after the request
    was accepted; a store is answered when it is visible to all.

    | cycle | event |
    |---|---|
    | 0 | `i` is accepted |
    | 1 | first request |
    | n | response, with the last threads |
    | n + 1 | `arriving`, if no result waits |
    | n + 2 | result, if the response covers all threads and no result waits |
    | n + 3 | result, if there were several parts (n + 4 with more than 16 slots) |

    A store also has a result, which writes nothing, and so has an atomic with rd = x0. An
    instruction reported in `fault` has none: its warp stalls forever, so no instruction uses the
    missing data.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
        Loads and stores: operand 0 is the base, operand 1 the stored value. `mask` is never 0.
        Of an atomic, operand 0 is the address, operand 2 the expected value of a compare-and-swap.
    request : Out(stream.Signature(data_request_layout(config)))
    response : In(ResponseSignature(data_response_layout(config)))
    o : Out(stream.Signature(result_layout(config)))
        Results in the order of completion.
    arriving : Out(ResponseSignature(arrival_layout(config)))
        Destination of a result that is offered, or will be soon.
    busy_warps : Out(warps)
        Warps with accesses in flight: accepted, with unanswered threads.
    fault : Out(ResponseSignature(memory_fault_layout(config)))
        An instruction that was not requested, or threads that memory refused. `mask` marks all
        threads with the fault kind of the lowest, `address` is that of the lowest. Valid 2 cycles
        after acceptance or after the response, or later: one fault per cycle. Each response has
        its own fault, so an instruction may have several.

    Raises
    ------
    ValueError
        If the tags do not suffice for all requests of one instruction.

    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "request": Out(stream.Signature(data_request_layout(config))),
            "response": In(ResponseSignature(data_response_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
            "arriving": Out(ResponseSignature(arrival_layout(config))),
            "busy_warps": Out(config.warps),
            "fault": Out(ResponseSignature(memory_fault_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.requests = requests = AddressGeneration(self.config)
        m.submodules.table = table = PendingRequestTable(self.config)
        m.submodules.results = results = LoadAssembly(self.config)
        connect(m, flipped(self.i), requests.i)
        connect(m, requests.request, flipped(self.request))
        connect(m, flipped(self.response), table.response)
        connect(m, requests.opening, table.opening)
        connect(m, table.part, results.part)
        connect(m, results.released, table.released)
        connect(m, results.o, flipped(self.o))
        connect(m, results.arriving, flipped(self.arriving))
        accepted = Signal()
        m.d.comb += [
            accepted.eq(self.i.valid & self.i.ready),
            requests.slot_free.eq(table.slot_free),
            requests.slot.eq(table.slot),
            table.take.eq(accepted),
            table.row.valid.eq(self.request.valid & self.request.ready),
            table.row.payload.tag.eq(self.request.payload.tag),
            table.row.payload.addresses.eq(self.request.payload.address),
        ]
        self.report(m, requests, table)
        self.count(m, accepted, requests, table)
        return m

    def report(self, m: Module, requests: AddressGeneration, table: PendingRequestTable):
        """Report faults, one per cycle: refused responses go before faulty addresses."""
        suspect = Signal.like(requests.suspect.payload)
        m.d.comb += [
            requests.suspect.ready.eq(~table.part.valid),
            table.dropped.valid.eq(requests.suspect.valid & ~table.part.valid),
            table.dropped.payload.eq(requests.suspect_slot),
            suspect.eq(Mux(table.part.valid, table.refused.payload, requests.suspect.payload)),
        ]
        is_fault = table.refused.valid | table.dropped.valid
        m.d.sync += self.fault.valid.eq(is_fault)
        with m.If(is_fault):
            m.d.sync += [
                *(
                    self.fault.payload[name].eq(suspect[name])
                    for name in ("warp", "pc", "mask", "kind")
                ),
                self.fault.payload.address.eq(
                    select(
                        lowest(suspect.mask),
                        [suspect.addresses[thread] for thread in range(self.config.threads)],
                    )
                ),
            ]

    def count(
        self, m: Module, accepted: Value, requests: AddressGeneration, table: PendingRequestTable
    ):
        """Count the accesses in flight of each warp."""
        warps = self.config.warps
        starts, ends, changes = Signal(warps), Signal(warps), Signal(warps)
        ended_warp = Signal(warp_shape(self.config))
        m.d.comb += [
            # At most one access ends per cycle: none is dropped while a response is handled.
            ended_warp.eq(
                Mux(table.part.valid, table.ended.payload, requests.suspect.payload.warp)
            ),
            starts.eq(accepted << self.i.payload.warp),
            ends.eq((table.ended.valid | table.dropped.valid) << ended_warp),
            changes.eq(starts ^ ends),
        ]
        for warp in range(warps):
            under_way = Signal(ceil_log2(slots(self.config) + 1), name=f"under_way_{warp}")
            change = Cat(Const(1, 1), ends[warp].replicate(len(under_way) - 1))  # 1 or -1
            with m.If(changes[warp]):
                m.d.sync += under_way.eq(under_way + change)
            m.d.comb += self.busy_warps[warp].eq(under_way.any())
