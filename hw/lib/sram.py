"""SRAM: the only memory primitive, with one read port, one write port and 1 cycle latency."""

from amaranth import *
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..emit.component import Component
from ..emit.shared_block import EmissionPlatform
from ..emit.sram_macros import ONE_PORT, TWO_PORTS, SramShape

__all__ = ["Sram"]


class Sram(Component):
    """A memory of `depth` words with one read and one write port.

    Latency 1 cycle: `read_data` belongs to the address of the last cycle with `read_enable`
    high, and holds until the next. A read of an address written in the same cycle is undefined,
    as in an SRAM macro; simulation asserts that it does not happen. With ``1rw`` both ports
    are one port of the macro: simulation asserts that no cycle has a read and a write. Contents
    are undefined after power-up and survive a reset.

    With macros it is emitted as an instance of the wrapper of its shape (`SramShape`).

    Parameters
    ----------
    depth : int
        Words.
    width : int
        Bits of a word.
    granularity : int or None
        Bits written by one bit of `write_mask`; None for whole words.
    ports : str
        ``1r1w``, or ``1rw`` if no cycle ever has both a read and a write.

    Members
    -------
    read_enable : In(1)
    read_address : In(ceil_log2(depth))
    read_data : Out(width)
    write_mask : In(width // granularity)
    write_address : In(ceil_log2(depth))
    write_data : In(width)
    """

    def __init__(
        self, *, depth: int, width: int, granularity: int | None = None, ports: str = TWO_PORTS
    ):
        self.shape = SramShape(
            depth=depth,
            width=width,
            granularity=width if granularity is None else granularity,
            ports=ports,
        )
        super().__init__({
            "read_enable": In(1),
            "read_address": In(self.shape.address_width),
            "read_data": Out(width),
            "write_mask": In(self.shape.mask_width),
            "write_address": In(self.shape.address_width),
            "write_data": In(width),
        })

    def elaborate(self, platform):
        m = Module()
        macro = platform.macro(self.shape) if isinstance(platform, EmissionPlatform) else None
        if macro is not None:
            self.leave_to(m, macro)
            return m
        shape = self.shape
        m.submodules.memory = memory = Memory(
            shape=shape.width, depth=shape.depth, init=[], attrs={"sram_ports": shape.ports}
        )
        whole = shape.granularity == shape.width
        write = memory.write_port(granularity=None if whole else shape.granularity)
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
            self.assert_contract(m)
        return m

    def leave_to(self, m: Module, macro: str):
        """Instantiate the wrapper of a macro."""
        if self.shape.ports == ONE_PORT:
            addresses = {"i_address": Mux(self.read_enable, self.read_address, self.write_address)}
        else:
            addresses = {
                "i_read_address": self.read_address,
                "i_write_address": self.write_address,
            }
        m.submodules.macro = Instance(
            macro,
            i_clk=ClockSignal(),
            i_read_enable=self.read_enable,
            i_write_mask=self.write_mask,
            i_write_data=self.write_data,
            o_read_data=self.read_data,
            **addresses,
        )

    def assert_contract(self, m: Module):
        """Assert, in simulation only, that no access has an undefined result in a macro."""
        both = self.read_enable & self.write_mask.any()
        if self.shape.ports == ONE_PORT:
            m.d.sync += Assert(~both, "a 1rw memory reads and writes in the same cycle")
        else:
            m.d.sync += Assert(
                ~both | (self.read_address != self.write_address),
                "an address is read and written in the same cycle",
            )
