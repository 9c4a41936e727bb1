"""Register file of a core: banks, their request generators and crossbars."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.age_matrix import AgeMatrix
from ...lib.interfaces.execution_unit import result_layout
from ...lib.streams import ResponseSignature
from ..layouts import read_layout
from .bank_requests import BankRequests
from .crossbar import Crossbar, Distributor
from .register_bank import RegisterBank
from .register_map import RegisterMap, request_layout

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
        self.map = RegisterMap(config)
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
        m.d.comb += [
            self.events.reads.eq(Cat(bank.requests.any() for bank in banks)),
            self.events.writes.eq(Cat(bank.write_requests.any() for bank in banks)),
            self.events.read_conflicts.eq(Cat(bank.conflict for bank in banks)),
            self.events.write_conflicts.eq(Cat(bank.write_conflict for bank in banks)),
        ]
        return m

    def connect_collectors(self, m, banks):
        """Connect the collectors' requests to the banks, and the read data back."""
        config = self.config
        requesters = []
        for number in range(config.collectors):
            request = self.request[number]
            m.submodules[f"read_{number}"] = read = BankRequests(config)
            m.submodules[f"crossbar_{number}"] = crossbar = Crossbar(config)
            m.d.comb += [
                read.valid.eq(request.valid),
                read.register.eq(request.payload),
                request.ready.eq(read.finished),
                read.grants.eq(Cat(bank.grant[number] for bank in banks)),
                crossbar.register.eq(request.payload),
                crossbar.served.eq(read.served),
                crossbar.answered.eq(read.finished | read.grants.any()),
            ]
            m.d.comb += [crossbar.banks[n].eq(bank.read_data) for n, bank in enumerate(banks)]
            wiring.connect(m, crossbar.o, wiring.flipped(self.data[number]))
            requesters.append(read)
        for number, bank in enumerate(banks):
            m.d.comb += [
                bank.requests.eq(Cat(read.requests[number] for read in requesters)),
                bank.places.eq(self.places(requesters, number)),
            ]
        if config.bank_arbiter == "age":
            m.submodules.age_matrix = age_matrix = AgeMatrix(config.collectors)
            m.d.comb += age_matrix.waiting.eq(
                Cat(read.valid & ~read.finished for read in requesters)
            )
            m.d.comb += [Value.cast(bank.older).eq(Value.cast(age_matrix.older)) for bank in banks]

    def places(self, requesters: list[BankRequests], bank: int) -> Value:
        """Return the rows requested in a bank, one for each of `requesters`."""
        return Cat(
            self.map.place(
                requester.register.register, requester.register.warp, requester.parts[bank]
            )
            for requester in requesters
        )

    def connect_buses(self, m, banks):
        """Connect the results on the buses to the banks."""
        requesters, words = [], []
        for number in range(self.config.writeback_buses):
            write = self.write[number]
            m.submodules[f"write_{number}"] = requester = BankRequests(self.config)
            m.d.comb += [
                requester.valid.eq(write.valid & write.payload.writes),
                requester.register.warp.eq(write.payload.warp),
                requester.register.register.eq(write.payload.rd),
                requester.register.mask.eq(write.payload.mask),
                requester.grants.eq(Cat(bank.write_grant[number] for bank in banks)),
                write.ready.eq(requester.finished | (write.valid & ~write.payload.writes)),
            ]
            requesters.append(requester)
            words.append(self.values_at_banks(m, number, requester))
        m.submodules.write_age_matrix = age_matrix = AgeMatrix(len(requesters))
        m.d.comb += age_matrix.waiting.eq(
            Cat(requester.valid & ~requester.finished for requester in requesters)
        )
        for number, bank in enumerate(banks):
            masks = [
                requester.register.mask if self.map.wide else Const(1) for requester in requesters
            ]
            m.d.comb += [
                Value.cast(bank.write_older).eq(Value.cast(age_matrix.older)),
                bank.write_requests.eq(Cat(requester.requests[number] for requester in requesters)),
                bank.write_places.eq(self.places(requesters, number)),
                bank.write_masks.eq(Cat(masks)),
                bank.write_data.eq(Cat(at_banks[number] for at_banks in words)),
            ]

    def values_at_banks(self, m, number: int, requester: BankRequests) -> list[Value]:
        """Return for each bank the data that bus `number` would write to it."""
        payload = self.write[number].payload
        banks = self.config.banks
        if self.map.wide:
            return [Value.cast(payload.values)] * banks
        m.submodules[f"distributor_{number}"] = distributor = Distributor(self.config)
        m.d.comb += [
            distributor.register.eq(payload.rd),
            distributor.offered.eq(requester.offered),
            distributor.values.eq(payload.values),
        ]
        return [distributor.banks[bank] for bank in range(banks)]
