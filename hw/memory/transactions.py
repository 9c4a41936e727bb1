"""What a core's data requests have under way that is answered later."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..config import ClusterConfig
from ..shared_block import SharedBlock
from ..sram import Sram
from .arbiter import lowest, select
from .l1_layouts import core_of
from .path_layouts import answer_layout, group_layout

__all__ = ["Transactions", "asked_layout"]


def asked_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of what is remembered of a group until it is answered."""
    group = group_layout(config).members
    return data.StructLayout({name: group[name] for name in ("tag", "lanes", "places")})


def found_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of an answer with what was asked."""
    answer = answer_layout(config).members
    return data.StructLayout({
        "asked": asked_layout(config),
        "data": answer["data"],
        "error": 1,
    })


class Transactions(SharedBlock):
    """Give each group a number until it is answered, and remember who asked for it.

    A group goes in the cycle in which it comes, unless all numbers are in use. What was asked is
    at `found` in the cycle after its answer was taken.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    group : In(group_layout(config))
        Of whatever target.
    valid : In(1)
    may_go : Out(1)
        There is a number for it.
    entry : Out(exact_log2(config.core.transactions))
        Its number.
    goes : In(1)
        It is under way from now on; only where it may.
    answer : In(stream.Signature(answer_layout(config)))
        Refused only while `found` is.
    found : Out(stream.Signature(found_layout(config)))
    busy : Out(1)
        Something is under way.
    """

    group: data.View
    valid: Signal
    may_go: Signal
    entry: Signal
    goes: Signal
    answer: stream.Interface
    found: stream.Interface
    busy: Signal

    def __init__(self, config: ClusterConfig):
        self.config = config
        super().__init__({
            "group": In(group_layout(config)),
            "valid": In(1),
            "may_go": Out(1),
            "entry": Out(exact_log2(core_of(config).transactions)),
            "goes": In(1),
            "answer": In(stream.Signature(answer_layout(config))),
            "found": Out(stream.Signature(found_layout(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = core_of(self.config).transactions
        under_way = Signal(count)
        chosen, is_chosen = Signal(count), Signal()  # the number of the next group, one-hot
        begun, ended, free = Signal(count), Signal(count), Signal(count)
        m.d.comb += [
            begun.eq(Mux(self.goes, chosen, 0)),
            free.eq(~under_way & ~Mux(is_chosen, chosen, 0)),
            self.entry.eq(select(chosen, [C(n, len(self.entry)) for n in range(count)])),
            self.may_go.eq(self.valid & is_chosen),
            self.busy.eq(under_way.any() | self.found.valid),
        ]
        m.d.sync += under_way.eq((under_way | begun) & ~ended)
        with m.If(self.goes | ~is_chosen):
            m.d.sync += [chosen.eq(lowest(free)), is_chosen.eq(free.any())]
        self.find(m, ended)
        return m

    def find(self, m: Module, ended):
        """Take answers, and bring what was asked."""
        layout = asked_layout(self.config)
        m.submodules.asked = asked = Sram(depth=len(ended), width=layout.size)
        answer, found, taken = self.answer.payload, self.found.payload, Signal()
        remembered = Signal(layout)
        m.d.comb += [
            self.answer.ready.eq(~self.found.valid | self.found.ready),
            taken.eq(self.answer.valid & self.answer.ready),
            *(remembered[name].eq(self.group[name]) for name in layout.members),
            asked.write_mask.eq(self.goes),
            asked.write_address.eq(self.entry),
            asked.write_data.eq(remembered),
            asked.read_enable.eq(taken),
            asked.read_address.eq(answer.entry),
            Value.cast(found.asked).eq(asked.read_data),
        ]
        with m.If(taken):
            m.d.comb += ended.eq(1 << answer.entry)
            m.d.sync += [found.data.eq(answer.data), found.error.eq(answer.error)]
        with m.If(self.answer.ready):
            m.d.sync += self.found.valid.eq(self.answer.valid)
