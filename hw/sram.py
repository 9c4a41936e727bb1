"""The one memory of the design: one read port, one write port, a cycle to read."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

__all__ = ["Sram"]


class Sram(wiring.Component):
    """A memory of `depth` words with one read and one write port.

    Latency 1 cycle: `read_data` belongs to the address of the last cycle in which `read_enable`
    was high, and holds until the next. A read of an address written in the same cycle is
    undefined, as in an SRAM macro; simulation asserts that nobody asks for one. Contents are
    undefined after power-up and survive a reset.

    Parameters
    ----------
    depth : int
        Words.
    width : int
        Bits of a word.
    granularity : int or None
        Bits written by one bit of `write_mask`; None writes whole words.

    Members
    -------
    read_enable : In(1)
    read_address : In(ceil_log2(depth))
    read_data : Out(width)
    write_mask : In(width // granularity)
    write_address : In(ceil_log2(depth))
    write_data : In(width)
    """

    read_enable: Signal
    read_address: Signal
    read_data: Signal
    write_mask: Signal
    write_address: Signal
    write_data: Signal

    def __init__(self, *, depth: int, width: int, granularity: int | None = None):
        if depth < 2:
            raise ValueError(f"depth must be at least 2, not {depth!r}")
        if granularity is not None and width % granularity:
            raise ValueError(f"granularity must divide the width {width}, not {granularity!r}")
        self.depth = depth
        self.width = width
        self.granularity = granularity
        super().__init__({
            "read_enable": In(1),
            "read_address": In(ceil_log2(depth)),
            "read_data": Out(width),
            "write_mask": In(1 if granularity is None else width // granularity),
            "write_address": In(ceil_log2(depth)),
            "write_data": In(width),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.width, depth=self.depth, init=[])
        write = memory.write_port(granularity=self.granularity)
        read = memory.read_port()
        m.d.comb += [
            write.en.eq(self.write_mask),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            read.en.eq(self.read_enable),
            read.addr.eq(self.read_address),
            self.read_data.eq(read.data),
        ]
        if platform is None:
            # A report from the simulator only: macros return anything on such a read.
            clash = self.read_enable & self.write_mask.any()
            m.d.sync += Assert(
                ~clash | (self.read_address != self.write_address),
                "an address is read and written in the same cycle",
            )
        return m
