"""Branch resolution: target of a branch or jump, and the threads that disagree with it."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ....config import PipelineConfig
from ....emit.component import Component
from ....isa.operations import Port
from ....lib.interfaces.core_memory import warp_shape
from ....lib.one_hot import select
from ....lib.streams import ResponseSignature
from ...layouts import branch_layout

__all__ = ["Branch", "decision_layout"]


def decision_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a beat of a branch or jump.

    ``place`` is that of the beat, see `BeatsConfig`. The target of a branch is ``relative`` if
    ``is_taken``, else ``next``, the following instruction. With ``by_register`` the target is the
    thread's entry of ``targets``, with bit 0 cleared. ``is_taken`` and ``targets`` are per lane;
    the unused one of them is equal for all threads.
    """
    lanes = config.lanes(Port.INT)
    return data.StructLayout({
        "place": config.threads // lanes,
        "warp": warp_shape(config),
        "mask": config.threads,
        "pc": 32,
        "relative": 32,
        "next": 32,
        "by_register": 1,
        "is_taken": lanes,
        "targets": data.ArrayLayout(32, lanes),
    })


class Branch(Component):
    """Branch resolution: all threads of a warp share one pc, that of the last active thread.

    An active thread disagrees if its branch decision differs (taken or not taken), or if its
    register holds another target.

    Latency 1 cycle from the last beat of a warp; one beat per cycle.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(ResponseSignature(decision_layout(config)))
    o : Out(ResponseSignature(branch_layout(config)))

    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "i": In(ResponseSignature(decision_layout(config))),
            "o": Out(ResponseSignature(branch_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        beat, valid = self.i.payload, self.i.valid
        passing = ("warp", "mask", "pc", "relative", "next", "by_register")
        held = {name: Signal.like(beat[name], name=name, reset_less=True) for name in passing}
        with m.If(valid):
            m.d.sync += [signal.eq(beat[name]) for name, signal in held.items()]
        m.d.sync += self.o.valid.eq(valid & beat.place[-1])

        is_taken = self.gathered(m, "is_taken")
        targets = self.gathered(m, "targets")
        choices = [
            Cat(is_taken[k], targets[32 * k + 1 : 32 * (k + 1)]) for k in range(self.config.threads)
        ]
        chosen = Signal(32)
        target = Mux(
            held["by_register"],
            Cat(C(0, 1), chosen[1:]),
            Mux(chosen[0], held["relative"], held["next"]),
        )
        m.d.comb += [
            chosen.eq(select(held["mask"], choices)),
            self.o.payload.warp.eq(held["warp"]),
            self.o.payload.pc.eq(held["pc"]),
            self.o.payload.target.eq(target),
            self.o.payload.disagree.eq(held["mask"] & Cat(choice != chosen for choice in choices)),
        ]
        return m

    def gathered(self, m: Module, name: str) -> Value:
        """Return registers for all threads of a warp, loaded beat by beat from the lanes."""
        brought, groups = Value.cast(self.i.payload[name]), []
        for beat, arrives in enumerate(self.i.payload.place):
            group = Signal(len(brought), name=f"{name}_{beat}", reset_less=True)
            with m.If(self.i.valid & arrives):
                m.d.sync += group.eq(brought)
            groups.append(group)
        return Cat(groups)
