"""Proofs of the cluster barrier: all cores are released once, and none before all have arrived."""

from amaranth import *
from amaranth.utils import ceil_log2

from spica.hw.cluster.cluster_barrier import ClusterBarrier
from spica.hw.config import ClusterBarrierConfig

from .proof import Proof
from .properties import Assert, Assume, Properties, ones
from .turns import Turns

__all__ = ["PROOFS"]


class Meeting(Properties):
    """One arbitrary barrier and one arbitrary core: arrival, waiting and release.

    Assumptions: a core that waits at a barrier does not arrive there again, and counts are 1 to
    `cores`.
    """

    def __init__(self, cores: int, barriers: int):
        self.config = ClusterBarrierConfig(cores=cores, barriers=barriers)
        width = ceil_log2(cores + 1)
        super().__init__(
            free={"valids": cores}
            | {f"barrier_{core}": range(barriers) for core in range(cores)}
            | {f"count_{core}": range(cores + 1) for core in range(cores)},
            fixed={"barrier": range(barriers), "who": range(cores)},
            inside={f"kept_{b}": (f"cluster_barrier.count_{b}", width) for b in range(barriers)}
            | {"after": ("cluster_barrier.arbiter.arbiter_after", cores)},
        )

    def state(self, m):
        cores = self.config.cores
        m.submodules.cluster_barrier = self.dut = dut = ClusterBarrier(self.config)
        self.here, self.count = here, count = Signal(cores), Signal(range(cores + 1))
        accepted, opens = Signal(cores), Signal()
        m.d.comb += opens.eq(0)
        for core, port in enumerate(dut.core):
            request = port.request
            arriving, expected = getattr(self, f"barrier_{core}"), getattr(self, f"count_{core}")
            at_it, refused = arriving == self.barrier, Signal(name=f"refused_{core}")
            m.d.comb += [
                request.valid.eq(self.valids[core]),
                request.payload.barrier.eq(arriving),
                request.payload.count.eq(expected),
                accepted[core].eq(request.valid & request.ready),
                Assume((expected >= 1) & (expected <= cores)),
                Assume(~(self.valids[core] & at_it & here[core])),
                refused.eq(here.any() & (count != expected)),
            ]
            with m.If(accepted[core] & at_it):
                m.d.comb += Assert(port.refused == refused)
                with m.If(~refused):
                    m.d.comb += opens.eq(ones(here) + 1 == expected)
                    m.d.sync += [here.eq(Mux(opens, 0, here | 1 << core)), count.eq(expected)]
        opened, released, release = Signal(), Signal(), dut.core[0].release
        self.turns = turns = Turns(
            m, self.who, cores, self.valids.bit_select(self.who, 1), accepted, cores - 1
        )
        m.d.sync += opened.eq(opens)
        m.d.comb += [
            released.eq(release.valid & (release.payload.barrier == self.barrier)),
            *(
                Assert(
                    (port.release.valid == release.valid)
                    & (port.release.payload == release.payload)
                )
                for port in dut.core
            ),
            Assert(released == opened),
            Assert(dut.waiting[self.barrier] == here),
            Assert(~here.any() | (ones(here) < count)),
            Assert(ones(accepted) == self.valids.any()),
            Assert(~turns.due | accepted.bit_select(self.who, 1)),
        ]
        with m.If(~self.valids.any()):
            m.d.comb += Assert(~accepted.any())

    def relate(self, m):
        cores = self.config.cores
        counts = Array(getattr(self, f"kept_{b}") for b in range(self.config.barriers))
        after = Array(-1 << (last + 1) & (1 << cores) - 1 for last in range(cores))
        m.d.comb += [
            Assert(~self.here.any() | (counts[self.barrier] == self.count)),
            Assert(self.after == after[self.turns.last]),
        ]
        self.turns.relate(m)


PROOFS = (
    Proof(
        name="cluster_barrier",
        says="all cores are released once, in the cycle after the last arrival, and none before; "
        "only a core with a different count is refused; a core waits for at most one turn of each "
        "other core",
        size="3 cores, 2 barriers",
        kind=Meeting,
        arguments=(3, 2),
    ),
    Proof(
        name="cluster_barrier_8",
        says="the same",
        size="8 cores, 4 barriers",
        kind=Meeting,
        arguments=(8, 4),
    ),
)
