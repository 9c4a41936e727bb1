"""From AXI4-Lite to the register buses of the units."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out

from .axi import RESPONSE_OKAY, RESPONSE_SLAVE_ERROR, Axi4LiteSignature
from .config.checks import require_integer
from .registers import RegisterSignature
from .shared_block import SharedBlock

__all__ = ["RegisterBlock", "RegisterBridge", "RegisterBridgeConfig", "decode"]


def decode(m: Module, address: Value, choices: list, name: str) -> Signal:
    """Return a one-hot signal: which of `choices` holds `address`, its last bit if none does.

    A choice is a list of addresses or patterns; an address is in one at most.
    """
    chosen = Signal(len(choices) + 1, name=name)
    with m.Switch(address):
        for number, patterns in enumerate(choices):
            with m.Case(*patterns):
                m.d.comb += chosen.eq(1 << number)
        with m.Default():
            m.d.comb += chosen.eq(1 << len(choices))
    return chosen


@dataclass(frozen=True, kw_only=True)
class RegisterBlock:
    """Where the registers of one unit live.

    Parameters
    ----------
    name : str
        Name of the unit's register bus.
    base, size : int
        First byte address of the block, and its bytes; multiples of 4.
    address_width : int
        How many low bits of the slave's address the unit sees.

    """

    name: str
    base: int
    size: int
    address_width: int

    def __post_init__(self):
        for name in ("base", "size"):
            if getattr(self, name) % 4:
                raise ValueError(f"{name} must be a multiple of 4, not {getattr(self, name):#x}")

    def patterns(self, address_width: int) -> list[str]:
        """Return patterns of address bits that together are exactly the block."""
        patterns = []
        start, end = self.base, self.base + self.size
        while start < end:
            free = (start & -start or end).bit_length() - 1  # low bits that may run
            while start + (1 << free) > end:
                free -= 1
            patterns.append(f"{start >> free:0{address_width - free}b}" + "-" * free)
            start += 1 << free
        return patterns


@dataclass(frozen=True, kw_only=True)
class RegisterBridgeConfig:
    """An address map.

    Parameters
    ----------
    address_width : int
        Bits of the slave's byte address.
    blocks : tuple of RegisterBlock
        The units, none overlapping.

    """

    address_width: int
    blocks: tuple[RegisterBlock, ...]

    def __post_init__(self):
        require_integer("address_width", self.address_width, 3, 32)
        end = 0
        for block in sorted(self.blocks, key=lambda block: block.base):
            if block.base < end:
                raise ValueError(
                    f"blocks must not overlap: {block.name} must begin at {end:#x} or later, "
                    f"not at {block.base:#x}"
                )
            end = block.base + block.size
        if end > 1 << self.address_width:
            raise ValueError(
                f"blocks must end by {1 << self.address_width:#x}, the end of "
                f"{self.address_width} address bits, not at {end:#x}"
            )


class RegisterBridge(SharedBlock):
    """An AXI4-Lite slave that passes accesses on to the unit in whose block they fall.

    One write and one read are under way at a time. Write address and data come in any order. A
    write that its unit holds (a full queue) holds the write channel and that unit's bus: reads
    of other units are served meanwhile, a read of the same unit waits. A response stays until it
    is taken. From the last of address and data to `bvalid`, and from address to `rvalid`, 4 cycles
    where the unit does not hold; 2 where the access is refused.

    Refused with SLVERR: addresses outside all blocks, write strobes other than all ones (a
    register is written whole), and whatever the unit refuses. Bits 1:0 of an address are ignored.

    Parameters
    ----------
    config : RegisterBridgeConfig

    Members
    -------
    s_axil : In(Axi4LiteSignature)
    {name} : Out(RegisterSignature)
        For each block. The address has bits 1:0 clear.
    """

    s_axil: Any

    def __init__(self, config: RegisterBridgeConfig):
        self.config = config
        super().__init__(
            {"s_axil": In(Axi4LiteSignature(address_width=config.address_width))}
            | {block.name: Out(RegisterSignature(block.address_width)) for block in config.blocks}
        )

    def build(self, platform):
        m = Module()
        bus = self.s_axil
        width = self.config.address_width
        write = Channel("write", width, len(self.config.blocks))
        read = Channel("read", width, len(self.config.blocks))
        data = Signal(32, reset_less=True)
        data_held = Signal()
        strobes_full = Signal()
        m.d.comb += [
            bus.awready.eq(~write.held),
            bus.wready.eq(~data_held),
            bus.arready.eq(~read.held),
            write.arrived.eq(bus.awvalid & bus.awready),
            read.arrived.eq(bus.arvalid & bus.arready),
            write.complete.eq(write.held & data_held),
            read.complete.eq(read.held),
            write.permitted.eq(strobes_full),
            read.permitted.eq(1),
            bus.bvalid.eq(write.answered),
            bus.bresp.eq(write.response),
            bus.rvalid.eq(read.answered),
            bus.rresp.eq(read.response),
            write.left.eq(bus.bvalid & bus.bready),
            read.left.eq(bus.rvalid & bus.rready),
        ]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [
                data_held.eq(1),
                data.eq(bus.wdata),
                strobes_full.eq(bus.wstrb.all()),
            ]
        with m.If(write.left):
            m.d.sync += data_held.eq(0)
        self.advance(m, write, bus.awaddr)
        self.advance(m, read, bus.araddr)
        for number, block in enumerate(self.config.blocks):
            self.serve(m, number, block, write, read, data)
        return m

    def advance(self, m, channel, address):
        """Take an address, find its block, and answer at once what has none."""
        with m.If(channel.arrived):
            m.d.sync += [channel.held.eq(1), channel.address.eq(address)]
        width = self.config.address_width
        patterns = [block.patterns(width) for block in self.config.blocks]
        targets = decode(m, channel.address, patterns, f"{channel.name}_falls_in")
        m.d.comb += [
            channel.waiting.eq(channel.complete & ~channel.issued & ~channel.answered),
            channel.targets.eq(Mux(channel.waiting & channel.permitted, targets[:-1], 0)),
        ]
        with m.If(channel.waiting & ~channel.targets.any()):
            m.d.sync += [channel.answered.eq(1), channel.response.eq(RESPONSE_SLAVE_ERROR)]
        with m.If(channel.left):
            m.d.sync += [channel.held.eq(0), channel.issued.eq(0), channel.answered.eq(0)]

    def serve(self, m, number, block, write, read, data):
        """Run the bus of one unit: one access at a time, of the write channel first."""
        unit = getattr(self, block.name)
        active = Signal(name=f"{block.name}_active")
        writing = Signal(name=f"{block.name}_writing")
        offered = Signal(name=f"{block.name}_offered")
        address = Mux(writing, write.address, read.address)
        m.d.comb += [
            unit.request.valid.eq(offered),
            unit.request.payload.write.eq(writing),
            unit.request.payload.address.eq(Cat(C(0, 2), address[2 : block.address_width])),
            unit.request.payload.data.eq(Mux(writing, data, 0)),
        ]
        with m.If(~active):
            for channel, writes in ((read, 0), (write, 1)):
                with m.If(channel.targets[number]):
                    m.d.sync += [active.eq(1), offered.eq(1), writing.eq(writes)]
            with m.If(write.targets[number]):
                m.d.sync += write.issued.eq(1)
            with m.Elif(read.targets[number]):
                m.d.sync += read.issued.eq(1)
        with m.If(offered & unit.request.ready):
            m.d.sync += offered.eq(0)
        with m.If(unit.response.valid):
            m.d.sync += active.eq(0)
            for channel, writes in ((read, 0), (write, 1)):
                with m.If(writing == writes):
                    m.d.sync += channel.answered.eq(1)
                    m.d.sync += channel.response.eq(
                        Mux(unit.response.payload.error, RESPONSE_SLAVE_ERROR, RESPONSE_OKAY)
                    )
            with m.If(~writing):
                m.d.sync += self.s_axil.rdata.eq(unit.response.payload.data)


class Channel:
    """Signals of the read or of the write channel: one access from its address to its response."""

    def __init__(self, name: str, address_width: int, blocks: int):
        def bit(what):
            return Signal(name=f"{name}_{what}")

        self.name = name
        self.address = Signal(address_width, name=f"{name}_address", reset_less=True)
        self.arrived = bit("arrived")  #: an address is taken in this cycle
        self.held = bit("held")  #: an address is here, its response not yet taken
        self.complete = bit("complete")  #: address and data are here
        self.permitted = bit("permitted")  #: nothing but the address could be wrong
        self.waiting = bit("waiting")  #: complete, and no unit has it yet
        self.targets = Signal(blocks, name=f"{name}_targets")  #: whose it is while it waits
        self.issued = bit("issued")  #: a unit has it
        self.answered = bit("answered")  #: the response is here
        self.response = Signal(2, name=f"{name}_response", reset_less=True)
        self.left = bit("left")  #: the response is taken in this cycle
