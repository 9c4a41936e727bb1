"""SRAM: the only memory primitive, with one read port, one write port and 1 cycle latency."""

from typing import TYPE_CHECKING, Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..emit.component import Component
from ..emit.shared_block import EmissionPlatform
from ..emit.sram_macros import ONE_PORT, TWO_PORTS, SramShape
from .streams import ResponseSignature

__all__ = ["MemoryPorts", "Sram", "SramWriteSignature"]


class SramWriteSignature(wiring.Signature):
    """Write port of a memory, seen from the block that writes.

    Parameters
    ----------
    shape : SramShape

    Members
    -------
    mask : Out(shape.mask_width)
        Parts of the word that are written; 0 writes nothing.
    address : Out(shape.address_width)
    data : Out(shape.width)
    """

    def __init__(self, shape: SramShape):
        super().__init__({
            "mask": Out(shape.mask_width),
            "address": Out(shape.address_width),
            "data": Out(shape.width),
        })


class MemoryPorts(wiring.PureInterface):
    """Ports of a memory whose addresses a block computes in place, as interfaces of the block.

    Parameters
    ----------
    memory : Sram
    name : str
        Prefix of the signals.

    Members
    -------
    read : Out(ResponseSignature(address_width))
    data : In(width)
    write : Out(SramWriteSignature(memory.shape))
    """

    def __init__(self, memory: "Sram", name: str):
        super().__init__(memory.signature.flip(), path=(name,))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a port: an attribute that only the signature declares."""


class Sram(Component):
    """A memory of `depth` words with one read and one write port.

    Latency 1 cycle: `data` belongs to the address of the last cycle with `read.valid` high, and
    holds until the next. A read of an address written in the same cycle is undefined,
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
        Bits written by one bit of `write.mask`; None for whole words.
    ports : str
        ``1r1w``, or ``1rw`` if no cycle ever has both a read and a write.

    Members
    -------
    read : In(ResponseSignature(ceil_log2(depth)))
        Address of a word to be read.
    data : Out(width)
        The word.
    write : In(SramWriteSignature(shape))
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
            "read": In(ResponseSignature(self.shape.address_width)),
            "data": Out(width),
            "write": In(SramWriteSignature(self.shape)),
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
            write.en.eq(self.write.mask),
            write.addr.eq(self.write.address),
            write.data.eq(self.write.data),
            read.en.eq(self.read.valid),
            read.addr.eq(self.read.payload),
            self.data.eq(read.data),
        ]
        if platform is None:
            self.assert_contract(m)
        return m

    def leave_to(self, m: Module, macro: str):
        """Instantiate the wrapper of a macro."""
        if self.shape.ports == ONE_PORT:
            addresses = {"i_address": Mux(self.read.valid, self.read.payload, self.write.address)}
        else:
            addresses = {
                "i_read_address": self.read.payload,
                "i_write_address": self.write.address,
            }
        m.submodules.macro = Instance(
            macro,
            i_clk=ClockSignal(),
            i_read_enable=self.read.valid,
            i_write_mask=self.write.mask,
            i_write_data=self.write.data,
            o_read_data=self.data,
            **addresses,
        )

    def assert_contract(self, m: Module):
        """Assert, in simulation only, that no access has an undefined result in a macro."""
        both = self.read.valid & self.write.mask.any()
        if self.shape.ports == ONE_PORT:
            m.d.sync += Assert(~both, "a 1rw memory reads and writes in the same cycle")
        else:
            m.d.sync += Assert(
                ~both | (self.read.payload != self.write.address),
                "an address is read and written in the same cycle",
            )
