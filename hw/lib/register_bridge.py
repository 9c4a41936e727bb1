"""Bridge from AXI4-Lite to the register buses of the units."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..config.checks import require_integer
from ..emit.shared_block import SharedBlock
from .axi import RESPONSE_OKAY, RESPONSE_SLAVE_ERROR, Axi4LiteSignature
from .register_bus import RegisterSignature

__all__ = ["RegisterBlock", "RegisterBridge", "RegisterBridgeConfig", "decode"]


def decode(m: Module, address: Value, choices: list, name: str) -> Signal:
    """Return the one-hot index of the choice that contains `address`; the last bit if none does.

    A choice is a list of addresses or patterns; choices are disjoint.
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
    """Address range of the registers of one unit.

    Parameters
    ----------
    name : str
        Name of the unit's register bus.
    base, size : int
        First byte address of the block and its size in bytes; multiples of 4.
    address_width : int
        Low bits of the slave's address forwarded to the unit.

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
        """Return address bit patterns that together cover exactly the block."""
        patterns = []
        start, end = self.base, self.base + self.size
        while start < end:
            free = (start & -start or end).bit_length() - 1  # low bits that may vary
            while start + (1 << free) > end:
                free -= 1
            patterns.append(f"{start >> free:0{address_width - free}b}" + "-" * free)
            start += 1 << free
        return patterns


@dataclass(frozen=True, kw_only=True)
class RegisterBridgeConfig:
    """Address map of a bridge.

    Parameters
    ----------
    address_width : int
        Bits of the slave's byte address.
    blocks : tuple of RegisterBlock
        Blocks of the units; they must not overlap.

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
    """AXI4-Lite slave that forwards each access to the unit whose block contains its address.

    One write and one read are in flight at a time. Write address and data arrive in any order. A
    write stalled by its unit (a full queue) stalls the write channel and that unit's bus. Reads
    of other units proceed meanwhile; a read of the same unit waits. A response stays valid until
    it is accepted. Latency from the later of address and data to `bvalid`, and from address to
    `rvalid`: 4 cycles if the unit does not stall, 2 if the access is refused.

    Refused with SLVERR: addresses outside all blocks, write strobes other than all ones
    (registers are written whole), and accesses that the unit refuses. Address bits 1:0 are
    ignored.

    Parameters
    ----------
    config : RegisterBridgeConfig

    Members
    -------
    s_axil : In(Axi4LiteSignature)
    {name} : Out(RegisterSignature)
        One per block. Address bits 1:0 are 0.
    """

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

    def advance(self, m: Module, channel: "Channel", address: Value):
        """Accept an address, decode its block, and refuse an address outside all blocks."""
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

    def serve(
        self,
        m: Module,
        number: int,
        block: RegisterBlock,
        write: "Channel",
        read: "Channel",
        data: Signal,
    ):
        """Drive the bus of one unit: one access at a time, writes before reads."""
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
    """Signals of the read or the write channel: one access from its address to its response."""

    def __init__(self, name: str, address_width: int, blocks: int):
        def bit(what: str):
            return Signal(name=f"{name}_{what}")

        self.name = name
        self.address = Signal(address_width, name=f"{name}_address", reset_less=True)
        self.arrived = bit("arrived")  #: an address is accepted in this cycle
        self.held = bit("held")  #: an address is held, its response not yet accepted
        self.complete = bit("complete")  #: address and data have arrived
        self.permitted = bit("permitted")  #: legal, if the address is
        self.waiting = bit("waiting")  #: complete, and not yet issued to a unit
        self.targets = Signal(blocks, name=f"{name}_targets")  #: one-hot unit while waiting
        self.issued = bit("issued")  #: issued to a unit
        self.answered = bit("answered")  #: the response is valid
        self.response = Signal(2, name=f"{name}_response", reset_less=True)
        self.left = bit("left")  #: the response is accepted in this cycle
