"""Early write-backs of an L2 slice: sets to be cleaned while DRAM is lightly loaded."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect

from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue, ResponseSignature
from .layouts import L2SliceConfig, operation_layout
from .signatures import DramLoadSignature, OutcomeSignature

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
    lookup : In(ResponseSignature(operation_layout(config)))
        The operation that is looked up.
    outcome : In(OutcomeSignature())
    queued : Out(1)
        The line is written in whole, and its set is queued.
    dram : In(DramLoadSignature())
    flush : In(1)
    walk : Out(stream.Signature(operation_layout(config)))
        Walk over a set; not withdrawn unless DRAM is loaded.
    empty : Out(1)
        No set is queued.
    busy : Out(1)
        Walks are in progress, or begin.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "outcome": In(OutcomeSignature()),
            "queued": Out(1),
            "dram": In(DramLoadSignature()),
            "flush": In(1),
            "walk": Out(stream.Signature(operation_layout(config))),
            "empty": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, l2 = self.config, self.config.l2
        m.submodules.sets = sets = Queue(l2.set_width, 2 * l2.early_write_backs)
        written_set: Any = stream.Signature(l2.set_width).create()
        next_set: Any = stream.Signature(l2.set_width).flip().create()
        connect(m, written_set, sets.i)
        connect(m, sets.o, next_set)
        reads, is_light = Signal(range(l2.mshrs + 1)), Signal()
        begins, runs, walked = Signal(), Signal(), Signal()
        operation = self.lookup.payload
        m.d.comb += [
            # A line in flight is left to the flush: it cannot be written back before it arrives.
            written_set.valid.eq(self.outcome.dirties & self.outcome.is_whole),
            written_set.payload.eq(config.set_of(operation.line)),
            self.queued.eq(written_set.valid & written_set.ready),
            is_light.eq(reads < max(1, l2.mshrs // 4)),
            begins.eq(sets.level >= max(1, l2.early_write_backs // 4)),
            self.walk.valid.eq(next_set.valid & ~walked & (self.flush | (runs & is_light))),
            self.walk.payload.walk.eq(1),
            self.walk.payload.line.eq(config.line_of(C(0, l2.tag_width), next_set.payload)),
            next_set.ready.eq(walked & self.lookup.valid & operation.walk & self.outcome.clean),
            self.empty.eq(~sets.level.any()),
            self.busy.eq(begins | runs),
        ]
        m.d.sync += [
            reads.eq(reads + self.dram.requested - self.dram.returned),
            walked.eq(self.walk.valid & self.walk.ready),
            runs.eq((runs | begins) & ~self.empty),
        ]
        return m
