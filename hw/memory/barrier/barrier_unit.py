"""Unit of transaction barriers: operations of cores and units on barriers in shared memory."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from ...emit.shared_block import SharedBlock
from ...isa.memory_map import SHARED_BASE
from ...isa.transaction_barrier import (
    BARRIER_BYTES,
    BARRIER_LAYOUT,
    BarrierFault,
    BarrierOperation,
)
from ...lib.address_range import within
from ...lib.arbiter import Arbiter, ArbitrationSignature
from ...lib.interfaces.shared_memory import WideReadSignature, WideWriteSignature
from ...lib.one_hot import select_one, union
from ...lib.streams import ResponseSignature
from .barrier_entries import BarrierEntries, EntryLookupSignature, EntryUpdateSignature
from .barrier_update import BarrierUpdate
from .layouts import (
    BarrierUnitConfig,
    BarrierUpdateSignature,
    answer_layout,
    completed_layout,
    completion_layout,
    request_layout,
)

__all__ = ["BarrierUnit"]


def event_layout(config: BarrierUnitConfig) -> data.StructLayout:
    """Return the layout of an operation in the unit: with its source."""
    fields = {name: field.shape for name, field in request_layout(config)}
    return data.StructLayout(fields | {"source": ceil_log2(config.sources)})


def stage_layout(config: BarrierUnitConfig) -> data.StructLayout:
    """Return the layout of an operation that waits for its barrier's bytes.

    `entry` is one-hot, 0 for an operation without a legal address.
    """
    fields = {name: field.shape for name, field in event_layout(config) if name != "address"}
    return data.StructLayout(fields | {"place": config.place_width, "entry": config.entries})


class BarrierUnit(SharedBlock):
    """Unit of transaction barriers of a cluster, with one order of all operations.

    | cycle            | event                                                              |
    |------------------|--------------------------------------------------------------------|
    | 0                | an operation is accepted; sources take turns                       |
    | 1                | it gets the entry of its barrier, or a free one whose bytes it reads |
    | 1 + read_latency | its barrier is updated                                             |
    | 2 + read_latency | `answer` and `completed`; the bytes go to the write buffer         |
    | 3 + read_latency | they are offered to shared memory                                  |

    Operations take effect in the order of their acceptance. Operations on one barrier follow each
    other in every cycle, as later ones take the bytes of the entry; they are written once. On
    different barriers the unit accepts ``entries`` operations in ``3 + read_latency`` cycles, at
    most one per cycle: a barrier has its entry until its bytes are written. Stalls of shared memory
    add to that. An answer and the end of a phase cannot be refused; there is one answer for each
    operation. An operation at an address that has no barrier is answered with
    `BarrierFault.ADDRESS` and accesses nothing.

    Parameters
    ----------
    config : BarrierUnitConfig

    Members
    -------
    requests : In(stream.Signature(request_layout(config))).array(config.requesters)
    completions : In(stream.Signature(completion_layout())).array(config.units)
    answer : Out(ResponseSignature(answer_layout(config)))
        To the source of the operation; those to units matter only if there is a fault.
    completed : Out(ResponseSignature(completed_layout(config)))
        To all cores: a phase has completed.
    read : Out(WideReadSignature(config.shared, 8))
    write : Out(WideWriteSignature(config.shared, 8))
    busy : Out(1)
        An operation arrives or is in progress, or bytes are not written yet.
    """

    def __init__(self, config: BarrierUnitConfig):
        self.config = config
        super().__init__({
            "requests": In(stream.Signature(request_layout(config))).array(config.requesters),
            "completions": In(stream.Signature(completion_layout())).array(config.units),
            "answer": Out(ResponseSignature(answer_layout(config))),
            "completed": Out(ResponseSignature(completed_layout(config))),
            "read": Out(WideReadSignature(config.shared, BARRIER_BYTES)),
            "write": Out(WideWriteSignature(config.shared, BARRIER_BYTES)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        lookup: Any = EntryLookupSignature(config).create(path=("lookup",))
        update: Any = EntryUpdateSignature(config).create(path=("entry_update",))
        m.submodules.entries = entries = BarrierEntries(config)
        connect(m, lookup, entries.lookup)
        connect(m, update, entries.update)
        connect(m, entries.write, flipped(self.write))
        moves = Signal()
        event, event_valid = self.accept(m, moves)
        issued, issues = self.issue(m, lookup, event, event_valid)
        stages, valids = self.delay(m, issued, issues)
        # The last stage is updated in this cycle.
        used = [Mux(valid, stage.entry, 0) for stage, valid in zip(stages, valids, strict=True)]
        self.update(m, update, stages[-1], valids[-1])
        arriving = Cat(source.valid for source in (*self.requests, *self.completions)).any()
        m.d.comb += [
            moves.eq(~event_valid | issues),
            entries.used.eq(union(used[:-1]) if used[:-1] else 0),
            self.busy.eq(
                arriving | event_valid | Cat(valids).any() | entries.busy | self.answer.valid
            ),
        ]
        return m

    def accept(self, m: Module, moves: Value) -> tuple[Any, Value]:
        """Accept the operation of one source if `moves`; return the last one, and its valid bit."""
        config = self.config
        arbitration: Any = ArbitrationSignature(config.sources).create()
        m.submodules.arbiter = arbiter = Arbiter(config.sources)
        connect(m, arbitration, arbiter)
        layout, events = event_layout(config), []
        event_valid = Signal()
        event: Any = Signal(layout, reset_less=True)
        for number, source in enumerate((*self.requests, *self.completions)):
            choice: Any = Signal(layout, name=f"offered_{number}")
            offered = source.payload
            m.d.comb += [choice.address.eq(offered.address), choice.source.eq(number)]
            if number < config.requesters:
                names = ("operation", "operand", "tag")
                m.d.comb += [choice[name].eq(offered[name]) for name in names]
            else:
                kinds = (BarrierOperation.ARRIVE, BarrierOperation.COMPLETE_TX)
                m.d.comb += [
                    choice.operation.eq(Mux(offered.arrives, *kinds)),
                    choice.operand.eq(Mux(offered.arrives, 1, offered.bytes)),
                ]
            m.d.comb += [
                arbitration.requests[number].eq(source.valid),
                source.ready.eq(moves & arbitration.grant[number]),
            ]
            events.append(choice.as_value())
        m.d.comb += arbitration.accept.eq(moves)
        with m.If(moves):
            m.d.sync += [
                event_valid.eq(arbitration.requests.any()),
                event.as_value().eq(select_one(arbitration.grant, events)),
            ]
        return event, event_valid

    def issue(self, m: Module, lookup: Any, event: Any, event_valid: Value) -> tuple[Any, Value]:
        """Give the operation an entry; return it for the next stage, and whether it moves on."""
        size = self.config.shared.size
        issued: Any = Signal(stage_layout(self.config))
        is_legal, issues = Signal(), Signal()
        place = event.address[ceil_log2(BARRIER_BYTES) : self.config.shared.address_width]
        is_aligned = ~event.address[: ceil_log2(BARRIER_BYTES)].any()
        m.d.comb += [
            is_legal.eq(is_aligned & within(event.address, SHARED_BASE, SHARED_BASE + size)),
            lookup.place.eq(place),
            self.read.request.valid.eq(event_valid & is_legal & ~lookup.hit & lookup.available),
            self.read.request.payload.eq(place << ceil_log2(BARRIER_BYTES)),
            issues.eq(
                event_valid
                & (~is_legal | lookup.hit | (self.read.request.valid & self.read.request.ready))
            ),
            lookup.accept.eq(issues & is_legal),
            *(issued[name].eq(event[name]) for name in ("operation", "operand", "tag", "source")),
            issued.place.eq(place),
            issued.entry.eq(Mux(is_legal, lookup.entry, 0)),
        ]
        return issued, issues

    def delay(self, m: Module, stage: Any, valid: Value) -> tuple[list[Any], list[Value]]:
        """Return the operations whose bytes are read, in the last stage with them; valid bits."""
        stages, valids = [], []
        for number in range(1, self.config.shared.read_latency + 1):
            next_stage = Signal(stage_layout(self.config), name=f"stage_{number}", reset_less=True)
            next_valid = Signal(name=f"stage_{number}_valid")
            m.d.sync += [next_stage.eq(stage), next_valid.eq(valid)]
            stage, valid = next_stage, next_valid
            stages.append(stage)
            valids.append(valid)
        return stages, valids

    def update(self, m: Module, entry: Any, stage: Any, valid: Value):
        """Update the barrier of a stage; register the answer and the end of the phase."""
        update: Any = BarrierUpdateSignature().create()
        m.submodules.update = barrier_update = BarrierUpdate()
        connect(m, update, barrier_update)
        has_address = stage.entry.any()
        answer, completed = self.answer, self.completed
        m.d.comb += [
            entry.entry.eq(Mux(valid, stage.entry, 0)),
            entry.read_word.eq(self.read.response.payload),
            entry.writes.eq(update.writes),
            entry.new_word.eq(update.new_word),
            update.word.eq(entry.word),
            update.operation.eq(stage.operation),
            update.operand.eq(stage.operand),
        ]
        parity = data.View(BARRIER_LAYOUT, entry.word).parity
        m.d.sync += [
            answer.valid.eq(valid),
            *(answer.payload[name].eq(stage[name]) for name in ("source", "tag")),
            answer.payload.result.eq(update.result & has_address),
            answer.payload.fault.eq(Mux(has_address, update.fault, BarrierFault.ADDRESS)),
            completed.valid.eq(valid & has_address & update.completes),
            completed.payload.place.eq(stage.place),
            completed.payload.parity.eq(parity),
        ]
