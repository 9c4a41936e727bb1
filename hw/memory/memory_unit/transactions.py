"""Transaction numbers of a core's accesses to DRAM in flight."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, select
from ...lib.streams import ResponseSignature

__all__ = ["Transactions"]


class Transactions(SharedBlock):
    """Transaction numbers: allocates one to each access of DRAM until the access is answered.

    One access per cycle. A number is offered again 2 cycles after its access ended.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    free : Out(1)
        `number` is unused.
    number : Out(exact_log2(config.core.transactions))
    goes : In(1)
        An access with `number` begins. Only if `free`.
    ended : In(ResponseSignature(exact_log2(config.core.transactions))).array(2)
        Numbers of accesses that end, one of the loads and one of the stores.
    busy : Out(1)
        An access is in flight.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        width = exact_log2(config.core.transactions)
        super().__init__({
            "free": Out(1),
            "number": Out(width),
            "goes": In(1),
            "ended": In(ResponseSignature(width)).array(2),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = self.config.core.transactions
        under_way = Signal(count)
        chosen, is_chosen = Signal(count), Signal()  # number of the next access, one-hot
        begun, free = Signal(count), Signal(count)
        ended = [Signal(count, name=f"ended_{n}") for n in range(len(self.ended))]
        m.d.comb += [
            *(
                ended_number.eq(Mux(one.valid, 1 << one.payload, 0))
                for ended_number, one in zip(ended, self.ended, strict=True)
            ),
            begun.eq(Mux(self.goes, chosen, 0)),
            free.eq(~under_way & ~Mux(is_chosen, chosen, 0)),
            self.number.eq(select(chosen, [C(n, len(self.number)) for n in range(count)])),
            self.free.eq(is_chosen),
            self.busy.eq(under_way.any()),
        ]
        m.d.sync += under_way.eq((under_way | begun) & ~(ended[0] | ended[1]))
        with m.If(self.goes | ~is_chosen):
            m.d.sync += [chosen.eq(lowest(free)), is_chosen.eq(free.any())]
        return m
