"""Proofs of the arbiter (round robin, one grant) and of the merge (no payload lost or starved)."""

from amaranth import *

from spica.hw.lib.arbiter import Arbiter
from spica.hw.lib.merge import Merge

from .proof import Proof
from .properties import Assert, Properties, ones
from .turns import Turns

__all__ = ["PROOFS"]


class ArbiterTurns(Properties):
    """One requester is granted: the first after the one served last."""

    def __init__(self, requesters: int):
        self.requesters = requesters
        super().__init__(
            free={"requests": requesters, "accepted": 1},
            fixed={"who": range(requesters)},
            inside={"after": ("arbiter.arbiter_after", requesters)},
        )

    def state(self, m):
        count = self.requesters
        m.submodules.arbiter = arbiter = Arbiter(count)
        m.d.comb += [arbiter.requests.eq(self.requests), arbiter.accept.eq(self.accepted)]
        chosen, is_requesting = Signal(), Signal()
        accepted = arbiter.grant & self.accepted.replicate(count)
        self.turns = Turns(m, self.who, count, is_requesting, accepted, count - 1)
        with m.If(self.accepted & ~self.requests.any()):
            m.d.sync += self.turns.last.eq(count - 1)
        between = Array(
            Array(mask_between(last, who, count) for who in range(count)) for last in range(count)
        )[self.turns.last][self.who]
        m.d.comb += [
            is_requesting.eq(self.requests.bit_select(self.who, 1)),
            chosen.eq(arbiter.grant.bit_select(self.who, 1)),
            Assert(ones(arbiter.grant) == self.requests.any()),
            Assert(is_requesting | ~chosen),
            Assert(~self.turns.due | chosen),
            Assert(~chosen | ~(self.requests & between).any()),
        ]

    def relate(self, m):
        count = self.requesters
        after = Array(-1 << (last + 1) & (1 << count) - 1 for last in range(count))
        m.d.comb += Assert(self.after == after[self.turns.last])
        self.turns.relate(m)


def mask_between(last: int, who: int, count: int) -> int:
    """Return the mask of requesters between `last` and `who`, in circular order."""
    return sum(1 << (last + step) % count for step in range(1, (who - last - 1) % count + 1))


class MergeTurns(Properties):
    """Each payload leaves once, in the cycle after it was accepted, and no input starves."""

    WIDTH = 2

    def __init__(self, inputs: int):
        self.inputs = inputs
        super().__init__(
            free={"valids": inputs, "payloads": inputs * self.WIDTH, "ready": 1},
            fixed={"who": range(inputs)},
            inside={"served": ("merge.served", range(inputs))},
        )

    def state(self, m):
        count, width = self.inputs, self.WIDTH
        m.submodules.merge = merge = Merge(width, count)
        inputs = merge.i
        for number, i in enumerate(inputs):
            m.d.comb += [
                i.valid.eq(self.valids[number]),
                i.payload.eq(self.payloads.word_select(number, width)),
            ]
        accepted, is_requesting = Signal(count), Signal()
        held, source, payload = Signal(), Signal(range(count)), Signal(width)
        m.d.comb += [
            accepted.eq(Cat(i.valid & i.ready for i in inputs)),
            is_requesting.eq(self.valids.bit_select(self.who, 1)),
            merge.o.ready.eq(self.ready),
        ]
        self.turns = turns = Turns(m, self.who, count, is_requesting, accepted, 0)
        with m.If(accepted.any()):
            m.d.sync += held.eq(1)
        with m.Elif(self.ready):
            m.d.sync += held.eq(0)
        for number in range(count):
            with m.If(accepted[number]):
                m.d.sync += [
                    source.eq(number),
                    payload.eq(self.payloads.word_select(number, width)),
                ]
        moves = Signal()
        m.d.comb += [
            moves.eq(~held | self.ready),
            Assert(ones(accepted) == (moves & self.valids.any())),
            Assert(merge.o.valid == held),
            Assert(~held | (merge.o.payload.payload == payload)),
            Assert(~held | (merge.o.payload.source == source)),
            Assert(~(turns.due & moves) | accepted.bit_select(self.who, 1)),
        ]

    def relate(self, m):
        m.d.comb += Assert(self.served == self.turns.last)
        self.turns.relate(m)


PROOFS = (
    *(
        Proof(
            name=f"arbiter_{count}",
            says="one requester is granted, the first after the one served last; a held request "
            f"waits for at most {count - 1} others",
            size=f"{count} requesters",
            kind=ArbiterTurns,
            arguments=(count,),
            depth=5,
        )
        for count in (5, 8)
    ),
    Proof(
        name="merge",
        says="a payload leaves once, with its source; a held input waits for at most 2 others",
        size="3 inputs of 2 bits",
        kind=MergeTurns,
        arguments=(3,),
    ),
)
