"""Proofs of an L2 slice: each read is answered once, and reads of one ID stay in order."""

from amaranth import *

from spica.hw.config.l2 import L2Config
from spica.hw.lib.axi import BURST_INCR
from spica.hw.memory.l2.l2_slice import L2Slice
from spica.hw.memory.l2.layouts import L2SliceConfig

from .proof import Proof
from .properties import Assert, Assume, Properties

__all__ = ["PROOFS"]

#: Two lines of two beats; reads of source 0 do not allocate.
SMALL = L2SliceConfig(
    l2=L2Config(size=16, ways=1, line_bytes=8, mshrs=2, write_backs=2),
    data_width=32,
    id_width=2,
    source_width=1,
    masters=1,
)
#: Cycles in which the IDs are cleared after reset, one by one. Reads of cleared IDs may begin.
SWEEP = 1 << SMALL.id_width
#: Number of different lines read: more than the cache holds.
LINES = 4


class Reads(Properties):
    """Reads of one or two beats, offered in the first `last` cycles, are answered by cycle `end`.

    Until `last`, requester and DRAM stall arbitrarily, and DRAM answers reads in any order; after
    that neither stalls. There are no writes, and all data are 0.
    """

    def __init__(self, last: int, end: int):
        self.last, self.end = last, end
        super().__init__(
            free={
                "read": 1,
                "line": range(LINES),
                "beat": 1,
                "more": 1,
                "id": SMALL.id_width,
                "takes": 1,
                "dram_takes": 1,
                "dram_answers": 1,
                "dram_mshr": SMALL.mshr_width,
            },
            fixed={"who": SMALL.id_width},
        )

    def state(self, m):
        m.submodules.slice = dut = L2Slice(SMALL)
        now, self.late = Signal(range(self.end + 2)), Signal()
        m.d.sync += now.eq(now + (now <= self.end))
        m.d.comb += self.late.eq(now > self.last)
        unanswered = self.request(m, dut.i)
        self.answer(m, dut.o)
        m.d.comb += Assert((now != self.end) | (unanswered == 0))

    def request(self, m: Module, i) -> Signal:
        """Drive reads; return the number of unanswered reads of ID `who`."""
        offered = self.stays(m, i.arvalid, i.arready, Cat(self.line, self.beat, self.more, self.id))
        m.d.comb += [
            i.arvalid.eq(self.read),
            i.araddr.eq(Cat(C(0, 2), self.beat, self.line)),
            i.arid.eq(self.id),
            i.arlen.eq(self.more),
            i.arsize.eq(2),
            i.arburst.eq(BURST_INCR),
            i.rready.eq(self.takes | self.late),
            Assume(~(self.beat & self.more)),
            Assume(~self.read | ~self.late | offered),
        ]
        accepts = i.arvalid & i.arready & (self.id == self.who)
        goes = i.rvalid & i.rready & (i.rid == self.who)
        # Unanswered reads; whether each needs a second beat, oldest first; whether one was
        # received.
        waiting, requested, has = Signal(4), Signal(16), Signal()
        left, remaining = Signal(4), Signal(16)
        m.d.comb += [
            left.eq(waiting - (goes & i.rlast)),
            remaining.eq(Mux(goes & i.rlast, requested >> 1, requested)),
        ]
        m.d.sync += [
            waiting.eq(left + accepts),
            requested.eq(Mux(accepts, (remaining & ~(1 << left)) | (self.more << left), remaining)),
        ]
        with m.If(goes):
            m.d.sync += has.eq(~i.rlast)
            m.d.comb += [Assert(waiting != 0), Assert(i.rlast == (has == requested[0]))]
        return waiting

    def answer(self, m: Module, o):
        """Answer the reads from DRAM."""
        lefts = [Signal(2, name=f"left_{mshr}") for mshr in range(SMALL.l2.mshrs)]
        left = Array(lefts)[self.dram_mshr]
        accepts = Signal()
        m.d.comb += [
            accepts.eq((self.dram_answers | self.late) & Cat(lefts).any()),
            Assume(~accepts | left.any()),
            o.arready.eq(self.dram_takes | self.late),
            o.rvalid.eq(accepts),
            o.rid.eq(self.dram_mshr),
            o.rlast.eq(left == 1),
            Assert(~o.awvalid & ~o.wvalid),
        ]
        self.stays(m, o.rvalid, o.rready, self.dram_mshr)
        for mshr, beats_left in enumerate(lefts):
            with m.If(o.arvalid & o.arready & (o.arid == mshr)):
                m.d.comb += Assert(beats_left == 0)
                m.d.sync += beats_left.eq(o.arlen + 1)
            with m.Elif(accepts & o.rready & (self.dram_mshr == mshr)):
                m.d.sync += beats_left.eq(beats_left - 1)

    def stays(self, m: Module, valid, ready, payload) -> Signal:
        """Assume that an untaken offer stays; return whether there was one."""
        offered, before = Signal(), Signal(len(payload))
        m.d.sync += [offered.eq(valid & ~ready), before.eq(payload)]
        m.d.comb += Assume(~offered | (valid & (payload == before)))
        return offered


PROOFS = (
    Proof(
        name="l2_slice",
        says="a read is answered once, with all its beats, and reads of one ID stay in order",
        size="2 lines of 2 beats, 2 misses, reads of 5 cycles",
        kind=Reads,
        arguments=(SWEEP + 4, SWEEP + 28),
        depth=SWEEP + 30,
        induction=False,
    ),
)
