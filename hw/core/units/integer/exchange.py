"""Warp exchange: votes of the threads of a warp, and shuffles between them."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ....config import PipelineConfig
from ....emit.component import Component
from ....isa.operations import IntegerOperation as Op
from ....isa.operations import Port
from ....lib.one_hot import select_one
from .integer_beats import operand_beats

__all__ = ["SELECTOR_FIELDS", "Exchange"]

#: First bits of the fields of a shuffle's selector, the register rs2. Each field counts threads and
#: is as wide as a thread number; the bits between them are ignored.
SELECTOR_FIELDS = {"b": 0, "clamp": 6, "mask": 12}


def value_at(index: Value, values: Sequence[Value]) -> Value:
    """Return the value with this index, by a balanced tree; undefined beyond the last one."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(index) - 1)
    below = value_at(index[:-1], values[:half])
    return Mux(index[-1], value_at(index[:-1], values[half:]), below) if values[half:] else below


class Exchange(Component):
    """Warp exchange: the results of a beat of `EXCHANGES`. Combinational.

    A vote has one result for all threads. It counts the active threads, by bit 0 of their source:
    all or any of them set, none or all of them set, or a mask of those that are set.

    A shuffle returns the source of another thread. Its selector splits the warp into segments of
    equal thread number under ``mask``. With t the number of the thread, the thread it reads is

    ===========  ===========================  =========================================
    `SHFL_UP`    t - b                        not below the segment's first, t & mask
    `SHFL_DOWN`  t + b                        not above (t & mask) | (clamp & ~mask)
    `SHFL_BFLY`  t ^ b                        likewise
    `SHFL_IDX`   (t & mask) | (b & ~mask)     likewise
    ===========  ===========================  =========================================

    Otherwise, or if that thread is inactive or does not exist, the thread reads its own source.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(operand_beats(config).beat_layout)
        A beat; sources and selectors of its threads are ``a`` and ``b``.
    o : Out(ArrayLayout(32, lanes))

    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.lanes = config.lanes(Port.INT)
        super().__init__({
            "i": In(operand_beats(config).beat_layout),
            "o": Out(data.ArrayLayout(32, self.lanes)),
        })

    @property
    def kind(self) -> Value:
        """Bits of the operation that are funct3 of its instruction."""
        return Value.cast(self.i.common.operation)[:3]

    def elaborate(self, platform):
        m = Module()
        vote = self.vote(m)
        for lane in range(self.lanes):
            shuffled = self.shuffle(m, lane) if self.config.threads > 1 else self.i.a[lane]
            m.d.comb += self.o[lane].eq(Mux(self.kind[2], shuffled, vote))
        return m

    def vote(self, m: Module) -> Value:
        """Return the result of a vote."""
        set_bits = Cat(source[0] for source in self.i.common.sources)
        ballot, vote = Signal(self.config.threads), Signal(32)
        has_set, has_clear = Signal(), Signal()
        m.d.comb += [
            ballot.eq(set_bits & self.i.common.mask),
            has_set.eq(ballot.any()),
            has_clear.eq((~set_bits & self.i.common.mask).any()),
        ]
        with m.Switch(self.kind[:2]):
            with m.Case(Op.VOTE_ALL & 3):
                m.d.comb += vote.eq(~has_clear)
            with m.Case(Op.VOTE_ANY & 3):
                m.d.comb += vote.eq(has_set)
            with m.Case(Op.VOTE_UNI & 3):
                m.d.comb += vote.eq(~has_set | ~has_clear)
            with m.Case(Op.VOTE_BALLOT & 3):
                m.d.comb += vote.eq(ballot)
        return vote

    def number(self, lane: int) -> Value:
        """Return the number of the thread of a lane in this beat."""
        width = ceil_log2(self.config.threads)
        threads = range(lane, self.config.threads, self.lanes)
        if len(threads) == 1:
            return Const(lane, width)
        return select_one(self.i.place, [Const(thread, width) for thread in threads])

    def shuffle(self, m: Module, lane: int) -> Value:
        """Return the result of a shuffle for the thread of a lane.

        The bounds are compared without those bits of the thread number that all threads of the
        segment have in common, so that no comparison waits for the number of the thread to read.
        """
        width = ceil_log2(self.config.threads)
        selector = self.i.b[lane]
        b, clamp, mask = (selector[low : low + width] for low in SELECTOR_FIELDS.values())
        number = Signal(width, name=f"number_{lane}")
        read = Signal(width, name=f"read_{lane}")  # the thread to read, if it is within bounds
        is_within = Signal(name=f"is_within_{lane}")
        m.d.comb += number.eq(self.number(lane))
        first, within, last = number & mask, number & ~mask, clamp & ~mask
        with m.Switch(self.kind[:2]):
            with m.Case(Op.SHFL_UP & 3):
                m.d.comb += [read.eq(number - b), is_within.eq(within >= b)]
            with m.Case(Op.SHFL_DOWN & 3):
                m.d.comb += [read.eq(number + b), is_within.eq(last - within - b >= 0)]
            with m.Case(Op.SHFL_BFLY & 3):
                m.d.comb += [read.eq(number ^ b), is_within.eq((number ^ b) <= (first | last))]
            with m.Case(Op.SHFL_IDX & 3):
                m.d.comb += [read.eq(first | (b & ~mask)), is_within.eq((b & ~mask) <= last)]
        # A thread that does not exist is inactive.
        active = self.i.common.mask | Const(0, 1 << width)
        takes = is_within & value_at(read, list(active))
        sources = [Value.cast(source) for source in self.i.common.sources]
        return Mux(takes, value_at(read, sources), self.i.a[lane])
