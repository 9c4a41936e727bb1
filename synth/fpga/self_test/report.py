"""Repeated report of a test's verdict on a serial line."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ....hw.config.checks import require_integer
from ....hw.emit.component import Component
from .uart import UartConfig, UartTransmitter

__all__ = ["Report", "ReportConfig", "report_of"]

DIGITS = 8


def report_of(passed: bool, cycles: int) -> bytes:
    """Return the line to send: the verdict, and the cycle count in hexadecimal."""
    return f"spica {'pass' if passed else 'FAIL'} {cycles:0{DIGITS}x}\r\n".encode()


@dataclass(frozen=True, kw_only=True)
class ReportConfig:
    """Speed and repetition of the report.

    Parameters
    ----------
    uart : UartConfig
        The serial line.
    repeat : int
        Cycles between repetitions of the line.

    """

    uart: UartConfig
    repeat: int

    def __post_init__(self):
        require_integer("repeat", self.repeat, 1, 1 << 31)


class Report(Component):
    """Result sender: repeats `report_of` from the cycle in which a test passes or fails.

    Parameters
    ----------
    config : ReportConfig

    Members
    -------
    passed, failed : In(1)
        The test is over when one of them is high; they stay.
    cycles : In(32)
        Duration of the test; stays.
    tx : Out(1)
        The serial line.
    """

    def __init__(self, config: ReportConfig):
        self.config = config
        super().__init__({"passed": In(1), "failed": In(1), "cycles": In(32), "tx": Out(1)})

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.uart = uart = UartTransmitter(config.uart)
        texts = [report_of(passed, 0) for passed in (False, True)]
        length, first = len(texts[0]), texts[0].index(b"0" * DIGITS)
        m.submodules.text = memory = Memory(shape=8, depth=2 * length, init=texts[0] + texts[1])
        letters = memory.read_port(domain="comb")
        place, pause = Signal(range(length + 1)), Signal(range(config.repeat))
        number, digit = Signal(range(DIGITS)), Signal(4)
        digits = Array(self.cycles.word_select(DIGITS - 1 - n, 4) for n in range(DIGITS))
        is_digit = (place >= first) & (place < first + DIGITS)
        m.d.comb += [
            number.eq(place - first),
            digit.eq(digits[number]),
            letters.addr.eq(Mux(self.passed, place + length, place)),
            uart.i.valid.eq((self.passed | self.failed) & (place != length)),
            uart.i.payload.eq(
                Mux(is_digit, digit + Mux(digit > 9, ord("a") - 10, ord("0")), letters.data)
            ),
            self.tx.eq(uart.tx),
        ]
        with m.If(uart.i.valid & uart.i.ready):
            m.d.sync += [place.eq(place + 1), pause.eq(0)]
        with m.If(place == length):
            m.d.sync += pause.eq(pause + 1)
            with m.If(pause == config.repeat - 1):
                m.d.sync += place.eq(0)
        return m
