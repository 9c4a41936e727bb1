"""Bank request generator: splits a register read into requests to the register banks."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest
from .register_map import RegisterMap, request_layout

__all__ = ["BankRequests", "rotate_left", "rotate_right"]


def rotate_left(value: Value, amount: Value, step: int = 1) -> Value:
    """Return `value` rotated towards its high end by `amount` groups of `step` bits."""
    shift = Cat(Const(0, step.bit_length() - 1), amount)
    return (Cat(value, value) << shift)[len(value) : 2 * len(value)]


def rotate_right(value: Value, amount: Value, step: int = 1) -> Value:
    """Return `value` rotated towards its low end by `amount` groups of `step` bits."""
    shift = Cat(Const(0, step.bit_length() - 1), amount)
    return (Cat(value, value) >> shift)[: len(value)]


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
    valid : In(1)
        The register is requested. Held, with `register` unchanged, until `finished`.
    register : In(request_layout)
    requests : Out(banks)
        Banks requested in this cycle.
    parts : Out(ArrayLayout(part_width, banks))
        For each bank the requested one of the threads that share it.
    grants : In(banks)
        Banks that serve a request in this cycle.
    offered, served : Out(threads)
        Threads whose banks are requested, and whose banks serve them, in this cycle.
    finished : Out(1)
        All threads are served after this cycle.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.map = sizes = RegisterMap(config)
        super().__init__({
            "valid": In(1),
            "register": In(request_layout(config)),
            "requests": Out(config.banks),
            "parts": Out(data.ArrayLayout(sizes.part_width, config.banks)),
            "grants": In(config.banks),
            "offered": Out(config.threads),
            "served": Out(config.threads),
            "finished": Out(1),
        })

    def build(self, platform):
        m = Module()
        if self.map.wide:
            self.request_row(m)
        else:
            self.request_words(m)
        return m

    def request_row(self, m):
        """Request the one bank that holds the register of all threads."""
        sizes, register = self.map, self.register
        bank = Signal(sizes.bank_width)
        m.d.comb += [
            bank.eq(register.register + register.warp),
            self.requests.eq(self.valid << bank),
            self.finished.eq(self.grants.any()),
            self.offered.eq(self.valid.replicate(self.config.threads)),
            self.served.eq(self.finished.replicate(self.config.threads)),
        ]

    def request_words(self, m):
        """Request the bank of each unserved thread."""
        config, sizes, register = self.config, self.map, self.register
        low = register.register[: sizes.bank_width]
        done = Signal(config.threads)
        needed = Signal(config.threads)
        left = Signal(config.threads)
        granted = Signal(config.banks)  # by offset in a part
        m.d.comb += [
            needed.eq(Mux(self.valid, register.mask & ~done, 0)),
            self.offered.eq(self.first_parts(needed)),
            granted.eq(rotate_right(self.grants, low)),
            self.served.eq(self.offered & granted.replicate(sizes.parts)),
            left.eq(needed & ~self.served),
            self.finished.eq(self.valid & ~left.any()),
        ]
        m.d.sync += done.eq(Mux(self.finished, 0, done | self.served))

        offered = [self.part(self.offered, number) for number in range(sizes.parts)]
        m.d.comb += self.requests.eq(rotate_left(self.merge(offered), low))
        numbers = []
        for position in range(sizes.part_width):
            chosen = [part for number, part in enumerate(offered) if number >> position & 1]
            bits = Signal(config.banks, name=f"part_{position}")
            m.d.comb += bits.eq(rotate_left(self.merge(chosen), low))
            numbers.append(bits)
        for bank in range(config.banks):
            m.d.comb += self.parts[bank].eq(Cat(bits[bank] for bits in numbers))

    def part(self, threads, number: int) -> Value:
        """Return the threads of a part, one bit for each bank."""
        banks = self.config.banks
        return Cat(threads[number * banks : (number + 1) * banks], Const(0, banks))[:banks]

    @staticmethod
    def merge(parts) -> Value:
        """Return the union of `parts`."""
        union = parts[0]
        for part in parts[1:]:
            union = union | part
        return union

    def first_parts(self, needed) -> Value:
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
