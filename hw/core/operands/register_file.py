"""Register file of a core: banks, their request generators and crossbars."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.age_matrix import ages
from ...lib.interfaces.execution_unit import result_layout
from ...lib.streams import ResponseSignature
from ..layouts import read_layout
from .bank_requests import BankRequests
from .crossbar import Crossbar, Distributor
from .register_bank import RegisterBank
from .register_map import request_layout

__all__ = ["RegisterFile", "register_events"]


def register_events(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the events of a cycle, with a bit for each bank.

    ``reads`` and ``writes`` mark accesses; ``read_conflicts`` and ``write_conflicts`` mark banks
    that did not grant the request of a collector or bus.
    """
    names = ("reads", "writes", "read_conflicts", "write_conflicts")
    return data.StructLayout(dict.fromkeys(names, config.banks))


class RegisterFile(SharedBlock):
    """Register file: 64 registers of each thread in banks with one read and one write per cycle.

    A request is ready in the cycle in which the last of its threads is granted: at once if no bank
    has other requests. Data follows one cycle after the grant: of all threads with warp-wide
    banks, else of the granted threads. The last data is one cycle after the request was accepted.
    A collector's requests are answered in order. Each thread of a request is granted once; with
    word-wide banks, threads outside its mask take no time. So n simultaneous requests take as many
    cycles as the busiest bank has reads.

    Writes are independent of reads. A write is ready in the cycle in which its last thread is
    written, at once if it writes nothing. At a bank the oldest goes first; among writes of the
    same cycle, the lowest bus.

    The scoreboard guarantees that no register is requested while a write of it is offered, and
    that no two writes of a register are offered at a time.

    Parameters
    ----------
    config : PipelineConfig
        The core.

    Members
    -------
    request : In(stream.Signature(request_layout(config))).array(collectors)
        Operand read by each collector.
    data : Out(ResponseSignature(read_layout(config))).array(collectors)
        Register data for each collector.
    write : In(stream.Signature(result_layout(config))).array(writeback_buses)
        Result on each bus.
    events : Out(register_events(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        collectors, buses = config.collectors, config.writeback_buses
        super().__init__({
            "request": In(stream.Signature(request_layout(config))).array(collectors),
            "data": Out(ResponseSignature(read_layout(config))).array(collectors),
            "write": In(stream.Signature(result_layout(config))).array(buses),
            "events": Out(register_events(config)),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        banks = []
        for number in range(config.banks):
            m.submodules[f"bank_{number}"] = bank = RegisterBank(config)
            m.d.comb += bank.number.eq(number)
            banks.append(bank)
        self.connect_collectors(m, banks)
        self.connect_buses(m, banks)
        reads, writes = zip(*(bank.accesses for bank in banks), strict=True)
        read_conflicts, write_conflicts = zip(*(bank.conflicts for bank in banks), strict=True)
        m.d.comb += [
            self.events.reads.eq(Cat(reads)),
            self.events.writes.eq(Cat(writes)),
            self.events.read_conflicts.eq(Cat(read_conflicts)),
            self.events.write_conflicts.eq(Cat(write_conflicts)),
        ]
        return m

    def connect_collectors(self, m: Module, banks: list[RegisterBank]):
        """Connect the collectors' requests to the banks, and the read data back."""
        waiting = Signal(self.config.collectors)
        for number, request in enumerate(self.request):
            m.submodules[f"read_{number}"] = read = BankRequests(self.config)
            m.submodules[f"crossbar_{number}"] = crossbar = Crossbar(self.config)
            connect(m, flipped(request), read.i)
            connect(m, read.service, crossbar.service)
            connect(m, crossbar.o, flipped(self.data[number]))
            for port, words, bank in zip(read.bank, crossbar.banks, banks, strict=True):
                connect(m, port, bank.read[number])
                m.d.comb += words.eq(bank.read_data)
            m.d.comb += waiting[number].eq(request.valid & ~request.ready)
        if self.config.bank_arbiter == "age":
            older = ages(m, waiting)
            m.d.comb += [bank.older.eq(older) for bank in banks]

    def connect_buses(self, m: Module, banks: list[RegisterBank]):
        """Connect the results on the buses to the banks."""
        waiting = Signal(self.config.writeback_buses)
        for number, write in enumerate(self.write):
            m.submodules[f"distributor_{number}"] = distributor = Distributor(self.config)
            m.submodules[f"write_{number}"] = requests = BankRequests(self.config)
            connect(m, flipped(write), distributor.i)
            connect(m, distributor.register, requests.i)
            for port, row, bank in zip(requests.bank, distributor.row, banks, strict=True):
                connect(m, port, bank.write[number])
                connect(m, row, bank.row[number])
            m.d.comb += [
                distributor.offered.eq(requests.offered),
                waiting[number].eq(requests.i.valid & ~requests.i.ready),
            ]
        older = ages(m, waiting, "write_older")
        m.d.comb += [bank.write_older.eq(older) for bank in banks]
