"""UART transmitter for the result of a test."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ....hw.config.checks import require_integer
from ....hw.emit.component import Component

__all__ = ["UartConfig", "UartTransmitter"]

BITS = 8


@dataclass(frozen=True, kw_only=True)
class UartConfig:
    """Speed of a serial line.

    Parameters
    ----------
    cycles_per_bit : int
        Clock frequency divided by baud rate.

    """

    cycles_per_bit: int

    def __post_init__(self):
        require_integer("cycles_per_bit", self.cycles_per_bit, 2, 1 << 20)


class UartTransmitter(Component):
    """UART transmitter: a start bit, eight bits with the lowest first, a stop bit, no parity.

    Ten times `cycles_per_bit` cycles per byte; `i` is refused meanwhile.

    Parameters
    ----------
    config : UartConfig

    Members
    -------
    i : In(stream.Signature(8))
    tx : Out(1)
        High while idle.
    """

    def __init__(self, config: UartConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(BITS)), "tx": Out(1, init=1)})  # pyright: ignore[reportCallIssue]  # not in stubs

    def elaborate(self, platform):
        m = Module()
        rest, left = Signal(BITS + 1, init=1), Signal(range(BITS + 3))
        time = Signal(range(self.config.cycles_per_bit))
        m.d.comb += self.i.ready.eq(left == 0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [rest.eq(Cat(self.i.payload, 1)), left.eq(BITS + 2), self.tx.eq(0)]
            m.d.sync += time.eq(self.config.cycles_per_bit - 1)
        with m.Elif(time != 0):
            m.d.sync += time.eq(time - 1)
        with m.Elif(left != 0):
            m.d.sync += [left.eq(left - 1), self.tx.eq(rest[0]), rest.eq(Cat(rest[1:], 1))]
            m.d.sync += time.eq(self.config.cycles_per_bit - 1)
        return m
