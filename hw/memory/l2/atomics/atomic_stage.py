"""Atomics in the tag stage of an L2 slice: whether one may be done, or needs its line."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ....emit.shared_block import SharedBlock
from ....lib.streams import ResponseSignature
from ...atomic.atomic_unit import writes_nothing
from ..layouts import L2SliceConfig, operation_layout, result_layout
from ..signatures import AtomicOutcomeSignature

__all__ = ["L2AtomicStage"]


class L2AtomicStage(SharedBlock):
    """Decision on an atomic: it is done if its beat is valid and no reply to its id is pending.

    Otherwise it must be retried; `misses` requests a fetch of its line. A DRAM error in its beat,
    reported by a fill of the line while it waits, ends it: it `fails`. At most one atomic waits,
    as writes are done in order. Combinational, with registers for the one that waits.

    Parameters
    ----------
    config : L2SliceConfig
        With atomics.

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
    result : In(result_layout(config))
        Tags of its line.
    reply_pending : In(1)
        An earlier write of its id is not replied to.
    filled : In(1)
        The operation is a fill, whose line is valid from now on.
    done : In(1)
        The operation is a write that is done.
    is_atomic, loads : Out(1)
        The write is an atomic; of one that writes no memory.
    accesses, fails, misses : Out(1)
        Its word can be accessed; DRAM failed its line; its line must be fetched, or waited for.
    outcome : Out(AtomicOutcomeSignature())
    may_end : Out(1)
        The write is no atomic, or accesses its word or fails, in the order of its id.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__(
            {
                "lookup": In(ResponseSignature(operation_layout(config))),
                "result": In(result_layout(config)),
                "outcome": Out(AtomicOutcomeSignature()),
            }
            | {name: In(1) for name in ("reply_pending", "filled", "done")}
            | {name: Out(1) for name in ("is_atomic", "loads", "accesses")}
            | {name: Out(1) for name in ("fails", "misses", "may_end")}
        )

    def build(self, platform):
        m = Module()
        operation, result = self.lookup.payload, self.result
        is_valid, failed = Signal(), Signal()
        m.d.comb += [
            self.is_atomic.eq(
                self.lookup.valid & operation.write & operation.atomic.valid & ~operation.is_empty
            ),
            self.loads.eq(self.is_atomic & writes_nothing(operation.atomic.operation)),
            is_valid.eq(result.present & ~(operation.needed & ~result.entry.full).any()),
            self.fails.eq(self.is_atomic & failed & ~is_valid),
            self.outcome.done.eq(self.done & self.accesses),
            self.outcome.fails.eq(self.done & self.fails),
            self.accesses.eq(self.is_atomic & is_valid),
            self.misses.eq(self.is_atomic & ~is_valid & ~failed),
            self.may_end.eq(~self.is_atomic | (~self.misses & ~self.reply_pending)),
        ]
        # The atomic that waits for its line.
        line = Signal.like(operation.line, reset_less=True)
        needed = Signal.like(operation.needed, reset_less=True)
        waits, errors = Signal(), Signal.like(operation.needed)
        m.d.comb += errors.eq(
            Cat(operation.codes[2 * n + 1] for n in range(self.config.beats)) & needed
        )
        with m.If(self.misses):
            m.d.sync += [waits.eq(1), line.eq(operation.line), needed.eq(operation.needed)]
        with m.If(self.done):
            m.d.sync += [waits.eq(0), failed.eq(0)]
        with m.Elif(self.filled & waits & (operation.line == line)):
            m.d.sync += failed.eq(errors.any())
        return m
