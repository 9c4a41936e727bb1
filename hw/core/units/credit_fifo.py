"""Credit FIFO for the results of a pipeline that cannot stall."""

from dataclasses import dataclass

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config.checks import require_integer
from ...emit.component import Component

__all__ = ["CreditFifo", "CreditFifoConfig"]


@dataclass(frozen=True, kw_only=True)
class CreditFifoConfig:
    """Configuration of the results of a pipeline.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a result.
    latency : int
        Cycles from an operation's acceptance to its result, 1 to 15.

    """

    shape: ShapeLike
    latency: int

    def __post_init__(self):
        require_integer("latency", self.latency, 1, 15)

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
    begins : In(1)
        An operation is offered; it begins if `ready`.
    ready : Out(1)
        There is room for one more result; independent of all inputs in the same cycle.
    payload : In(config.shape)
        Result of the operation that began `config.latency` cycles before.
    o : Out(stream.Signature(config.shape))

    """

    def __init__(self, config: CreditFifoConfig):
        self.config = config
        super().__init__({
            "begins": In(1),
            "ready": Out(1),
            "payload": In(config.shape),
            "o": Out(stream.Signature(config.shape)),
        })

    def elaborate(self, platform):
        m = Module()
        places = self.config.places
        used = Signal(range(places + 1))
        under_way = Signal(self.config.latency)  # the last bit: a result arrives in this cycle
        accept, leaves = Signal(), Signal()
        arrives = under_way[-1]
        m.d.sync += [under_way.eq(Cat(accept, under_way)), used.eq(used + accept - leaves)]
        waits, waiting = self.storage(m, arrives, leaves)
        m.d.comb += [
            self.ready.eq(used != places),
            accept.eq(self.begins & self.ready),
            leaves.eq(self.o.valid & self.o.ready),
            self.o.valid.eq(arrives | waits),
            self.o.payload.eq(Mux(waits, waiting, self.payload)),
        ]
        return m

    def storage(self, m, arrives, leaves):
        """Return whether results wait, and the first of them.

        `Queue` would count its entries and refuse overflow; here both are already known.
        """
        index_width = ceil_log2(self.config.places)
        width = Shape.cast(self.config.shape).width
        m.submodules.memory = memory = Memory(shape=width, depth=1 << index_width, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        # Indices have an extra bit, so they are equal only if nothing waits.
        first, end = Signal(index_width + 1), Signal(index_width + 1)
        waits = Signal()
        m.d.comb += [
            waits.eq(first != end),
            write.en.eq(arrives & (waits | ~leaves)),
            write.addr.eq(end[:-1]),
            write.data.eq(Value.cast(self.payload)),
            read.addr.eq(first[:-1]),
        ]
        m.d.sync += [first.eq(first + (waits & leaves)), end.eq(end + write.en)]
        return waits, read.data
