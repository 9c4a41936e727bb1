"""Register bank: a memory with its read and write arbiters."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.age_matrix import oldest
from ...lib.arbiter import Arbiter
from ...lib.one_hot import select
from ...lib.sram import Sram
from .register_map import RegisterMap

__all__ = ["RegisterBank"]


class RegisterBank(SharedBlock):
    """Register bank: one read for a collector and one write from a bus in each cycle.

    A grant is combinational; a requester without a grant must request again. Read data arrives in
    the next cycle. `bank_arbiter` selects collectors in round-robin order or oldest first; of the
    buses the oldest goes first.

    Parameters
    ----------
    config : PipelineConfig
        The core.

    Members
    -------
    number : In(bank_width)
        Index of the bank, a constant.
    requests, places : In
        Reading collectors and their rows.
    older : In(ArrayLayout(collectors, collectors))
        For each collector the mask of older ones; used with ``age`` only.
    grant : Out(collectors)
        Granted read.
    read_data : Out(32 * words)
        Data of the previous cycle's read.
    write_requests, write_places, write_masks, write_data : In
        Writing buses, with row, word mask and data of each.
    write_older : In(ArrayLayout(buses, buses))
    write_grant : Out(buses)
    conflict, write_conflict : Out(1)
        A request of a collector, or of a bus, was not granted.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.map = sizes = RegisterMap(config)
        collectors, buses = config.collectors, config.writeback_buses
        super().__init__({
            "number": In(sizes.bank_width),
            "requests": In(collectors),
            "places": In(data.ArrayLayout(sizes.place_layout, collectors)),
            "older": In(data.ArrayLayout(collectors, collectors)),
            "grant": Out(collectors),
            "read_data": Out(32 * sizes.words),
            "write_requests": In(buses),
            "write_places": In(data.ArrayLayout(sizes.place_layout, buses)),
            "write_masks": In(data.ArrayLayout(sizes.words, buses)),
            "write_data": In(data.ArrayLayout(32 * sizes.words, buses)),
            "write_older": In(data.ArrayLayout(buses, buses)),
            "write_grant": Out(buses),
            "conflict": Out(1),
            "write_conflict": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, sizes = self.config, self.map
        m.submodules.sram = memory = Sram(
            depth=sizes.depth,
            width=32 * sizes.words,
            granularity=32 if sizes.words > 1 else None,
        )
        if config.bank_arbiter == "age":
            m.d.comb += self.grant.eq(oldest(self.requests, self.older))
        else:
            m.submodules.arbiter = arbiter = Arbiter(config.collectors)
            m.d.comb += [
                arbiter.requests.eq(self.requests),
                arbiter.taken.eq(1),
                self.grant.eq(arbiter.grant),
            ]
        place = data.View(sizes.place_layout, self.picked(self.grant, self.places))
        write_place = data.View(
            sizes.place_layout, self.picked(self.write_grant, self.write_places)
        )
        write_mask = self.picked(self.write_grant, self.write_masks)
        m.d.comb += [
            memory.read_enable.eq(self.requests.any()),
            memory.read_address.eq(sizes.row(place, self.number)),
            self.read_data.eq(memory.read_data),
            self.write_grant.eq(oldest(self.write_requests, self.write_older)),
            memory.write_mask.eq(Mux(self.write_requests.any(), write_mask, 0)),
            memory.write_address.eq(sizes.row(write_place, self.number)),
            memory.write_data.eq(self.picked(self.write_grant, self.write_data)),
            self.conflict.eq((self.requests & ~self.grant).any()),
            self.write_conflict.eq((self.write_requests & ~self.write_grant).any()),
        ]
        return m

    @staticmethod
    def picked(grant, values) -> Value:
        """Return the entry of the array `values` that is granted."""
        return select(grant, [values[number] for number in range(len(grant))])
