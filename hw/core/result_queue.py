"""Where results of a pipeline that cannot stand still wait until they are taken."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..config.checks import require_integer

__all__ = ["ResultQueue", "ResultQueueConfig"]


@dataclass(frozen=True, kw_only=True)
class ResultQueueConfig:
    """A pipeline's results.

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
        """Results that are under way or wait: so many that one per cycle is taken for ever."""
        return self.latency + 1


class ResultQueue(wiring.Component):
    """Makes a stream of a pipeline without handshake: an operation begins only if there is room.

    Latency 0 where no result waits. The registers of the pipeline need no enable, which would have
    to reach through every lane, and results that nobody takes hold up only what comes behind as
    many as have places.

    Parameters
    ----------
    config : ResultQueueConfig

    Members
    -------
    begins : In(1)
        An operation is offered; it begins if `ready`.
    ready : Out(1)
        There is a place for one more result; it follows no input in the same cycle.
    payload : In(config.shape)
        The result of what began `config.latency` cycles before.
    o : Out(stream.Signature(config.shape))

    """

    begins: Signal
    ready: Signal
    payload: Any
    o: stream.Interface

    def __init__(self, config: ResultQueueConfig):
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
        under_way = Signal(self.config.latency)  # the last bit: a result comes in this cycle
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

        `Queue` would count what it holds and refuse what it has no place for; here both are known.
        """
        index_width = ceil_log2(self.config.places)
        width = Shape.cast(self.config.shape).width
        m.submodules.memory = memory = Memory(shape=width, depth=1 << index_width, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        # With one bit more than places have, they are equal only where nothing waits.
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
