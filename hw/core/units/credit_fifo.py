"""Credit FIFO for the results of a pipeline that cannot stall."""

from dataclasses import dataclass

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config.checks import require_integer
from ...emit.component import Component
from ...lib.pipeline import delayed

__all__ = ["CreditFifo", "CreditFifoConfig"]


@dataclass(frozen=True, kw_only=True)
class CreditFifoConfig:
    """Configuration of the results of a pipeline.

    Parameters
    ----------
    common : ShapeLike
        Fields known when the operation is accepted.
    result : ShapeLike
        The result itself.
    latency : int
        Cycles from an operation's acceptance to its result, 1 to 15.

    """

    common: ShapeLike
    result: ShapeLike
    latency: int

    def __post_init__(self):
        require_integer("latency", self.latency, 1, 15)

    @property
    def layout(self) -> data.StructLayout:
        """Layout of a result with the fields of its operation."""
        return data.StructLayout({"common": self.common, "result": self.result})

    @property
    def places(self) -> int:
        """Capacity for results in flight and waiting: enough for one per cycle without gaps."""
        return self.latency + 1


class CreditFifo(Component):
    """Credit FIFO: turns a pipeline without handshake into a stream by limiting its operations.

    Latency 0 if no result waits. The pipeline's registers need no enable, which would have to
    reach through every lane. A stalled output stalls the input only once all places are used.

    Parameters
    ----------
    config : CreditFifoConfig

    Members
    -------
    i : In(stream.Signature(config.common))
        Operations that begin. `i.ready` is independent of all inputs in the same cycle.
    result : In(config.result)
        Of the operation that began `config.latency` cycles before.
    o : Out(stream.Signature(config.layout))

    """

    def __init__(self, config: CreditFifoConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(config.common)),
            "result": In(config.result),
            "o": Out(stream.Signature(config.layout)),
        })

    def elaborate(self, platform):
        m = Module()
        places = self.config.places
        used = Signal(range(places + 1))
        under_way = Signal(self.config.latency)  # the last bit: a result arrives in this cycle
        accept, leaves = Signal(), Signal()
        arrives = under_way[-1]
        m.d.sync += [under_way.eq(Cat(accept, under_way)), used.eq(used + accept - leaves)]
        (common,) = delayed(m, self.config.latency, common=self.i.payload)
        complete = Cat(common, self.result)
        waits, waiting = self.storage(m, arrives, leaves, complete)
        m.d.comb += [
            self.i.ready.eq(used != places),
            accept.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
            self.o.valid.eq(arrives | waits),
            self.o.payload.eq(Mux(waits, waiting, complete)),
        ]
        return m

    def storage(
        self, m: Module, arrives: Value, leaves: Value, complete: Value
    ) -> tuple[Value, Value]:
        """Return whether results wait, and the first of them.

        `Queue` would count its entries and refuse overflow; here both are already known.
        """
        index_width = ceil_log2(self.config.places)
        m.submodules.memory = memory = Memory(shape=len(complete), depth=1 << index_width, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        # Indices have an extra bit, so they are equal only if nothing waits.
        first, end = Signal(index_width + 1), Signal(index_width + 1)
        waits = Signal()
        m.d.comb += [
            waits.eq(first != end),
            write.en.eq(arrives & (waits | ~leaves)),
            write.addr.eq(end[:-1]),
            write.data.eq(complete),
            read.addr.eq(first[:-1]),
        ]
        m.d.sync += [first.eq(first + (waits & leaves)), end.eq(end + write.en)]
        return waits, read.data
