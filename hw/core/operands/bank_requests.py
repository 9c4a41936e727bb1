"""Bank request generator: splits a register read into requests to the register banks."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest
from .bank_ports import BankPortSignature
from .register_map import RegisterMap, request_layout

__all__ = ["BankRequests", "ReadServiceSignature", "rotate_left", "rotate_right"]


def rotate_left(value: Value, amount: Value, step: int = 1) -> Value:
    """Return `value` rotated towards its high end by `amount` groups of `step` bits."""
    shift = Cat(Const(0, step.bit_length() - 1), amount)
    return (Cat(value, value) << shift)[len(value) : 2 * len(value)]


def rotate_right(value: Value, amount: Value, step: int = 1) -> Value:
    """Return `value` rotated towards its low end by `amount` groups of `step` bits."""
    shift = Cat(Const(0, step.bit_length() - 1), amount)
    return (Cat(value, value) >> shift)[: len(value)]


class ReadServiceSignature(wiring.Signature):
    """Service of a register read in this cycle; the data of the banks follow in the next.

    Members
    -------
    register : Out(request_layout(config))
        Register read in this cycle.
    served : Out(threads)
        Threads whose words are read in this cycle.
    answered : Out(1)
        The banks answer this cycle's read.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "register": Out(request_layout(config)),
            "served": Out(config.threads),
            "answered": Out(1),
        })


class BankRequests(SharedBlock):
    """Bank request generator: requests a register until its banks have served all threads.

    A warp-wide bank holds the register of all threads: one request. With word-wide banks each
    thread requests its own bank. Among threads that share a bank, the lowest goes first. Banks
    serve independently: the register is finished when its busiest bank is.

    Combinational, except for the mask of threads served in earlier cycles.

    Parameters
    ----------
    config : PipelineConfig
        The core.

    Members
    -------
    i : In(stream.Signature(request_layout(config)))
        Accepted in the cycle in which the last thread is served.
    bank : Out(BankPortSignature(config)).array(banks)
    offered : Out(threads)
        Threads whose banks are requested in this cycle.
    service : Out(ReadServiceSignature(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.map = RegisterMap(config)
        super().__init__({
            "i": In(stream.Signature(request_layout(config))),
            "bank": Out(BankPortSignature(config)).array(config.banks),
            "offered": Out(config.threads),
            "service": Out(ReadServiceSignature(config)),
        })

    def build(self, platform):
        m = Module()
        register, sizes = self.i.payload, self.map
        requests, grants = Signal(self.config.banks), Signal(self.config.banks)
        # For each bank the requested one of the threads that share it.
        parts = Signal(data.ArrayLayout(sizes.part_width, self.config.banks))
        if sizes.wide:
            self.request_row(m, requests, grants)
        else:
            self.request_words(m, requests, grants, parts)
        m.d.comb += [
            grants.eq(Cat(bank.grant for bank in self.bank)),
            self.service.register.eq(register),
            self.service.answered.eq(self.i.ready | grants.any()),
        ]
        for number, bank in enumerate(self.bank):
            m.d.comb += [
                bank.request.eq(requests[number]),
                Value.cast(bank.place).eq(
                    sizes.place(register.register, register.warp, parts[number])
                ),
            ]
        return m

    def request_row(self, m: Module, requests: Signal, grants: Signal):
        """Request the one bank that holds the register of all threads."""
        register = self.i.payload
        bank = Signal(self.map.bank_width)
        m.d.comb += [
            bank.eq(register.register + register.warp),
            requests.eq(self.i.valid << bank),
            self.i.ready.eq(grants.any()),
            self.offered.eq(self.i.valid.replicate(self.config.threads)),
            self.service.served.eq(self.i.ready.replicate(self.config.threads)),
        ]

    def request_words(self, m: Module, requests: Signal, grants: Signal, parts: data.View):
        """Request the bank of each unserved thread."""
        config, sizes, register = self.config, self.map, self.i.payload
        low = register.register[: sizes.bank_width]
        done = Signal(config.threads)
        needed = Signal(config.threads)
        left = Signal(config.threads)
        granted = Signal(config.banks)  # by offset in a part
        m.d.comb += [
            needed.eq(Mux(self.i.valid, register.mask & ~done, 0)),
            self.offered.eq(self.first_parts(needed)),
            granted.eq(rotate_right(grants, low)),
            self.service.served.eq(self.offered & granted.replicate(sizes.parts)),
            left.eq(needed & ~self.service.served),
            self.i.ready.eq(self.i.valid & ~left.any()),
        ]
        m.d.sync += done.eq(Mux(self.i.ready, 0, done | self.service.served))

        offered = [self.part(self.offered, number) for number in range(sizes.parts)]
        m.d.comb += requests.eq(rotate_left(self.merge(offered), low))
        numbers = []
        for position in range(sizes.part_width):
            chosen = [part for number, part in enumerate(offered) if number >> position & 1]
            bits = Signal(config.banks, name=f"part_{position}")
            m.d.comb += bits.eq(rotate_left(self.merge(chosen), low))
            numbers.append(bits)
        for bank in range(config.banks):
            m.d.comb += parts[bank].eq(Cat(bits[bank] for bits in numbers))

    def part(self, threads: Value, number: int) -> Value:
        """Return the threads of a part, one bit for each bank."""
        banks = self.config.banks
        return Cat(threads[number * banks : (number + 1) * banks], Const(0, banks))[:banks]

    @staticmethod
    def merge(parts: Sequence[Value]) -> Value:
        """Return the union of `parts`."""
        union = parts[0]
        for part in parts[1:]:
            union = union | part
        return union

    def first_parts(self, needed: Value) -> Value:
        """Return the lowest of the `needed` threads of each bank."""
        if self.map.parts == 1:
            return needed
        if self.config.banks == 1:
            return lowest(needed)
        first = [self.part(needed, 0)]
        before = first[0]
        for number in range(1, self.map.parts):
            part = self.part(needed, number)
            first.append(part & ~before)
            before = before | part
        return Cat(first)[: self.config.threads]
