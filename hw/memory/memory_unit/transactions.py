"""Transaction table: groups of a core in flight, until they are answered."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, select
from ...lib.sram import Sram
from .layouts import answer_layout, group_layout

__all__ = ["Transactions", "asked_layout"]


def asked_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of a table entry: the fields of a group needed for its response."""
    group = group_layout(config).members
    return data.StructLayout({name: group[name] for name in ("tag", "lanes", "places")})


def found_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of an answer with the entry of its group."""
    answer = answer_layout(config).members
    return data.StructLayout({
        "asked": asked_layout(config),
        "data": answer["data"],
        "error": 1,
    })


class Transactions(SharedBlock):
    """Transaction table: allocates an entry to each group and looks it up when it is answered.

    A group leaves in the cycle it arrives, unless all entries are in use. `found` is valid in
    the cycle after an answer was accepted.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    group : In(group_layout(config))
        A group of any target.
    valid : In(1)
    may_go : Out(1)
        An entry is free for it.
    entry : Out(exact_log2(config.core.transactions))
        The number of its entry.
    goes : In(1)
        It is in flight from now on. Only with `may_go`.
    answer : In(stream.Signature(answer_layout(config)))
        Refused only while `found` is stalled.
    found : Out(stream.Signature(found_layout(config)))
    busy : Out(1)
        A group is in flight.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        super().__init__({
            "group": In(group_layout(config)),
            "valid": In(1),
            "may_go": Out(1),
            "entry": Out(exact_log2(config.core.transactions)),
            "goes": In(1),
            "answer": In(stream.Signature(answer_layout(config))),
            "found": Out(stream.Signature(found_layout(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = self.config.core.transactions
        under_way = Signal(count)
        chosen, is_chosen = Signal(count), Signal()  # entry of the next group, one-hot
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
        """Accept answers, and look up their entries."""
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
