"""Early write-backs of an L2 slice: sets to be cleaned while DRAM is lightly loaded."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue
from .layouts import L2SliceConfig, operation_layout

__all__ = ["L2EarlyWritebacks"]


class L2EarlyWritebacks(SharedBlock):
    """Early write-backs: queues the sets of lines written in whole, and walks over them.

    A line written in whole is rarely written again soon. If it did not go to DRAM with its write
    (`L2TagStage`), its set is walked over until no line of it is dirty, so that a later flush need
    not look at it. Walks begin when a quarter of `config.l2.early_write_backs` sets are queued, as
    DRAM changes its direction once for all of them, and go on until the queue is empty. They pause
    unless less than a quarter of the MSHRs await DRAM. A look-up every 2 cycles: a line takes 4
    cycles. During a flush walks begin at once.

    Up to twice `config.l2.early_write_backs` sets are queued. The set of a line that is not
    `queued` is left to the flush and to evictions.

    Parameters
    ----------
    config : L2SliceConfig
        With `config.l2.early_write_backs` at least 1.

    Members
    -------
    written : In(1)
        The line of `line` is written in whole, and is dirty.
    line : In(config.l2.line_width)
    queued : Out(1)
        Its set is queued.
    requested, returned : In(1)
        A read of DRAM begins; one ends.
    flush : In(1)
    walk : Out(stream.Signature(operation_layout(config)))
        Walk over a set; not withdrawn unless DRAM is loaded.
    lookup, clean : In(1)
        The set accepted in the last cycle is looked up; it was `clean`.
    empty : Out(1)
        No set is queued.
    busy : Out(1)
        Walks are in progress, or begin.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__(
            {
                name: In(1)
                for name in ("written", "requested", "returned", "flush", "lookup", "clean")
            }
            | {name: Out(1) for name in ("queued", "empty", "busy")}
            | {
                "line": In(config.l2.line_width),
                "walk": Out(stream.Signature(operation_layout(config))),
            }
        )

    def build(self, platform):
        m = Module()
        config, l2 = self.config, self.config.l2
        m.submodules.sets = sets = Queue(l2.set_width, 2 * l2.early_write_backs)
        reads, is_light = Signal(range(l2.mshrs + 1)), Signal()
        begins, runs, taken = Signal(), Signal(), Signal()
        m.d.comb += [
            self.queued.eq(self.written & sets.i.ready),
            sets.i.valid.eq(self.written),
            sets.i.payload.eq(config.set_of(self.line)),
            is_light.eq(reads < max(1, l2.mshrs // 4)),
            begins.eq(sets.level >= max(1, l2.early_write_backs // 4)),
            self.walk.valid.eq(sets.o.valid & ~taken & (self.flush | (runs & is_light))),
            self.walk.payload.walk.eq(1),
            self.walk.payload.line.eq(config.line_of(C(0, l2.tag_width), sets.o.payload)),
            sets.o.ready.eq(taken & self.lookup & self.clean),
            self.empty.eq(~sets.level.any()),
            self.busy.eq(begins | runs),
        ]
        m.d.sync += [
            reads.eq(reads + self.requested - self.returned),
            taken.eq(self.walk.valid & self.walk.ready),
            runs.eq((runs | begins) & ~self.empty),
        ]
        return m
