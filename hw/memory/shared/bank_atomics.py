"""Atomics of a bank of shared memory: offers those of lanes one by one, and executes them."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2, exact_log2

from ...config import WORD_BYTES
from ...emit.shared_block import SharedBlock
from ...lib.arbiter import round_robin
from ...lib.one_hot import one_hot, select
from ..atomic.atomic_pipeline import AtomicPipeline, atomic_layout
from ..atomic.reservation_table import ReservationTableConfig
from .ports import SharedMemoryPorts
from .signatures import AtomicWriteSignature, LockSignature

__all__ = ["AtomicLanesSignature", "BankAtomics", "reservation_config"]


def reservation_config(config: SharedMemoryPorts) -> ReservationTableConfig:
    """Return the config of the reservations of a bank: an owner is a narrow port and its thread."""
    memory = config.memory
    assert memory.atomics is not None
    return ReservationTableConfig(
        entries=memory.atomics.reservations,
        columns=memory.subbanks,
        lines=memory.lines,
        owners=1 << memory.atomics.owner_width + ceil_log2(memory.narrow_ports),
    )


class AtomicLanesSignature(wiring.Signature):
    """Atomics of all lanes at a bank, seen from them.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    requests : Out(narrow_ports)
        Ports with an atomic.
    done : Out(subbanks)
        Subbanks in which the atomic that has the turn is done in this cycle.
    turn : In(narrow_ports)
        The port whose atomic may be done in this cycle, one-hot, or none.
    lane : Out(atomic_layout(…)).array(narrow_ports)
    """

    def __init__(self, config: SharedMemoryPorts):
        ports = config.memory.narrow_ports
        super().__init__({
            "requests": Out(ports),
            "done": Out(config.memory.subbanks),
            "turn": In(ports),
            "lane": Out(atomic_layout(reservation_config(config))).array(ports),
        })


class BankAtomics(SharedBlock):
    """Atomics of a bank: one port at a time has the turn, and its atomic is read like a load.

    One pipeline serves a bank, as atomics are few and words that several threads access fewer.
    The turn goes round-robin to ports with an atomic, from the cycle after the last atomic is done.
    It stays where no other port has one. So a bank does an atomic per cycle if ports have the turn
    one after another. An atomic is read in cycle t, its word is locked in t + 1 and t + 2, and
    written in t + 2 whatever else is to be written in its subbank. If that displaces a write, no
    atomic is done in the next cycle, so that writes are done at last.

    Parameters
    ----------
    config : SharedMemoryPorts
        With atomics.

    Members
    -------
    lanes : In(AtomicLanesSignature(config))
    line : In(8 * line_bytes)
        The word read last from each subbank.
    writes : In(reservation_config(config).writes)
        Words that are written in this cycle, in each subbank.
    waits : In(subbanks)
        Subbanks in which a write of others is to be done.
    locks : Out(LockSignature(subbanks, line_width))
    write : Out(AtomicWriteSignature())
        Write of the subbank in ``locks.writes``.
    fails : Out(1)
        The store-conditional that was accepted in the last cycle does not write.
    busy : Out(1)
        An atomic is in progress or arrives, or there is a reservation.
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        super().__init__({
            "lanes": In(AtomicLanesSignature(config)),
            "line": In(8 * memory.line_bytes),
            "writes": In(reservation_config(config).writes),
            "waits": In(memory.subbanks),
            "locks": Out(LockSignature(memory.subbanks, exact_log2(memory.lines))),
            "write": Out(AtomicWriteSignature()),
            "fails": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        lanes, subbanks = self.lanes, self.config.memory.subbanks
        m.submodules.pipeline = atomic_pipeline = AtomicPipeline(reservation_config(self.config))
        pipeline: Any = atomic_pipeline.signature.flip().create(path=("pipeline",))
        connect(m, pipeline, atomic_pipeline)
        turn, displaced = Signal(len(lanes.requests), init=1), Signal()
        m.d.comb += lanes.turn.eq(Mux(displaced, 0, turn))
        self.pass_turn(m, turn, lanes.done.any())
        m.d.sync += displaced.eq((self.locks.writes & self.waits).any())
        m.d.comb += [
            pipeline.i.valid.eq((lanes.requests & lanes.turn).any()),
            pipeline.i.payload.eq(select(turn, [Value.cast(lane) for lane in lanes.lane])),
            pipeline.free.eq(lanes.done),
            pipeline.writes.eq(self.writes),
            self.fails.eq(pipeline.result[0]),
            self.busy.eq(pipeline.busy),
            self.write.data.eq(pipeline.write.data),
            self.write.mask.eq(pipeline.write.mask),
        ]
        columns = []
        for number, (lock, word) in enumerate(zip(self.locks.lock, pipeline.locked, strict=True)):
            column = one_hot(m, word.column, subbanks, f"locked_{number}")
            columns.append(column)
            m.d.comb += [
                lock.words.eq(Mux(word.valid, column, 0)),
                lock.line.eq(word.line),
            ]
        m.d.comb += [
            self.locks.writes.eq(self.locks.lock[1].words),
            pipeline.word.eq(
                select(columns[0], [self.line.word_select(n, 32) for n in range(subbanks)])
            ),
        ]
        return m

    def pass_turn(self, m: Module, turn: Signal, accepted: Value):
        """Pass the turn to another port with an atomic."""
        if len(turn) == 1:
            return
        others, passes = Signal(len(turn)), Signal()
        m.d.comb += [
            others.eq(self.lanes.requests & ~turn),
            passes.eq(others.any() & (accepted | ~(self.lanes.requests & turn).any())),
        ]
        grant = round_robin(m, others, passes, "turn")
        with m.If(passes):
            m.d.sync += turn.eq(grant)

    @staticmethod
    def connect_lane(
        m: Module, lanes: Any, number: int, port: Any, config: SharedMemoryPorts
    ) -> None:
        """Connect the atomics of a narrow port; the number of the port is a part of the owner."""
        request, lane = port.payload, lanes.lane[number]
        offset_width = exact_log2(config.memory.line_bytes)
        m.d.comb += [
            lanes.requests[number].eq(port.valid & request.atomic),
            lane.column.eq(request.address[exact_log2(WORD_BYTES) : offset_width]),
            lane.line.eq(request.address[offset_width:]),
            lane.operation.eq(request.operation),
            lane.mask.eq(request.mask),
            lane.operand.eq(request.data),
            lane.expected.eq(request.expected),
            lane.owner.eq(Cat(request.owner, C(number, ceil_log2(config.memory.narrow_ports)))),
        ]
