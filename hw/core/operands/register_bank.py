"""Register bank: a memory with its read and write arbiters."""

from collections.abc import Sequence
from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.age_matrix import oldest
from ...lib.arbiter import round_robin
from ...lib.one_hot import select
from ...lib.sram import MemoryPorts, Sram
from .bank_ports import BankPortSignature, BankRowSignature
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
    read : In(BankPortSignature(config)).array(collectors)
    older : In(ArrayLayout(collectors, collectors))
        For each collector the mask of older ones; used with ``age`` only.
    read_data : Out(32 * words)
        Data of the previous cycle's read.
    write : In(BankPortSignature(config)).array(buses)
    row : In(BankRowSignature(config)).array(buses)
    write_older : In(ArrayLayout(buses, buses))
    accesses : Out(2)
        A read, and a write.
    conflicts : Out(2)
        A read of a collector, and a write of a bus, that was not granted.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.map = sizes = RegisterMap(config)
        collectors, buses = config.collectors, config.writeback_buses
        super().__init__({
            "number": In(sizes.bank_width),
            "read": In(BankPortSignature(config)).array(collectors),
            "older": In(data.ArrayLayout(collectors, collectors)),
            "read_data": Out(32 * sizes.words),
            "write": In(BankPortSignature(config)).array(buses),
            "row": In(BankRowSignature(config)).array(buses),
            "write_older": In(data.ArrayLayout(buses, buses)),
            "accesses": Out(2),
            "conflicts": Out(2),
        })

    def build(self, platform):
        m = Module()
        config, sizes = self.config, self.map
        m.submodules.sram = sram = Sram(
            depth=sizes.depth,
            width=32 * sizes.words,
            granularity=32 if sizes.words > 1 else None,
        )
        memory = MemoryPorts(sram, "memory")
        connect(m, memory, sram)
        requested = Signal(config.collectors)
        reads, writes = requests_of(self.read), requests_of(self.write)
        grant, write_grant = Signal(config.collectors), Signal(config.writeback_buses)
        if config.bank_arbiter == "age":
            m.d.comb += grant.eq(oldest(reads, self.older))
        else:
            m.d.comb += grant.eq(round_robin(m, requested, Const(1)))
        place, write_place = (
            data.View(sizes.place_layout, select(granted, [port.place for port in ports]))
            for granted, ports in ((grant, self.read), (write_grant, self.write))
        )
        write_mask = select(write_grant, [row.mask for row in self.row])
        m.d.comb += [
            requested.eq(reads),
            write_grant.eq(oldest(writes, self.write_older)),
            *(port.grant.eq(grant[number]) for number, port in enumerate(self.read)),
            *(port.grant.eq(write_grant[number]) for number, port in enumerate(self.write)),
            memory.read.valid.eq(reads.any()),
            memory.read.payload.eq(sizes.row(place, self.number)),
            self.read_data.eq(memory.data),
            memory.write.mask.eq(Mux(writes.any(), write_mask, 0)),
            memory.write.address.eq(sizes.row(write_place, self.number)),
            memory.write.data.eq(select(write_grant, [row.data for row in self.row])),
            self.accesses.eq(Cat(reads.any(), writes.any())),
            self.conflicts.eq(Cat((reads & ~grant).any(), (writes & ~write_grant).any())),
        ]
        return m


def requests_of(ports: Sequence[Any]) -> Value:
    """Return the requests at the ports of a bank."""
    return Cat(port.request for port in ports)
