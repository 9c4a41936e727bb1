"""Host in hardware: plays a list of commands on the control port of a cluster."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from ....hw.config.checks import require_integer
from ....hw.emit.component import Component
from ....hw.isa.memory_map import SLAVE_ADDRESS_WIDTH
from ....hw.lib.axi import RESPONSE_OKAY, Axi4LiteSignature

__all__ = ["HostPlayer", "HostPlayerConfig"]

WRITE, WAIT_EQUAL, WAIT_REACHED, READ = range(4)


@dataclass(frozen=True, kw_only=True)
class HostPlayerConfig:
    """Commands to play.

    Parameters
    ----------
    commands : tuple of tuple of int
        (operation, address, data, mask): 0 writes `data`; 1 reads until ``value & mask == data``;
        2 reads until ``value - data``, signed, is not negative; 3 reads once.
    patience : int
        Cycle limit of one command.

    """

    commands: tuple[tuple[int, int, int, int], ...]
    patience: int = 1 << 24

    def __post_init__(self):
        require_integer("patience", self.patience, 16, 1 << 31)
        if not self.commands:
            raise ValueError("commands must be at least 1, not 0")
        for operation, address, value, mask in self.commands:
            require_integer("operation", operation, WRITE, READ)
            require_integer("address", address, 0, (1 << SLAVE_ADDRESS_WIDTH) - 1)
            require_integer("data", value, 0, (1 << 32) - 1)
            require_integer("mask", mask, 0, (1 << 32) - 1)

    @property
    def layout(self) -> data.StructLayout:
        """Layout of a command."""
        return data.StructLayout({
            "operation": 2,
            "address": SLAVE_ADDRESS_WIDTH,
            "data": 32,
            "mask": 32,
        })

    @property
    def words(self) -> list[int]:
        """The commands as integers, in the order of `layout`."""
        value = SLAVE_ADDRESS_WIDTH + 2
        return [
            operation | address << 2 | word << value | mask << value + 32
            for operation, address, word, mask in self.commands
        ]


class HostPlayer(Component):
    """Command player: plays the commands from reset on, one access at a time.

    `done` rises once all are done. `failed` rises if one is refused or exceeds `patience`; playing
    stops then.

    Parameters
    ----------
    config : HostPlayerConfig

    Members
    -------
    axil : Out(Axi4LiteSignature)
    done : Out(1)
    failed : Out(1)
    """

    def __init__(self, config: HostPlayerConfig):
        self.config = config
        super().__init__({
            "axil": Out(Axi4LiteSignature(address_width=SLAVE_ADDRESS_WIDTH)),
            "done": Out(1),
            "failed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config, axil = self.config, self.axil
        m.submodules.commands = memory = Memory(
            shape=config.layout,
            depth=max(2, len(config.commands)),
            init=[config.layout.from_bits(word) for word in config.words],
        )
        fetch = memory.read_port()
        command = fetch.data
        number = Signal(range(len(config.commands) + 1))
        waited = Signal(range(config.patience + 1))
        difference = Signal(32)
        writes, holds = Signal(), Signal()
        m.d.comb += [
            fetch.addr.eq(number),
            fetch.en.eq(1),
            writes.eq(command.operation == WRITE),
            Cat(axil.awaddr, axil.araddr).eq(command.address.replicate(2)),
            axil.wdata.eq(command.data),
            axil.wstrb.eq(0b1111),
            difference.eq(axil.rdata - command.data),
        ]
        with m.Switch(command.operation):
            with m.Case(WAIT_EQUAL):
                m.d.comb += holds.eq((axil.rdata & command.mask) == command.data)
            with m.Case(WAIT_REACHED):
                m.d.comb += holds.eq(~difference[-1])
            with m.Default():
                m.d.comb += holds.eq(1)

        patience_ends = waited == config.patience
        with m.If(~patience_ends):
            m.d.sync += waited.eq(waited + 1)
        with m.FSM():
            with m.State("fetch"):
                m.d.sync += waited.eq(0)
                m.next = "begin"
                with m.If(number == len(config.commands)):
                    m.next = "done"
            with m.State("begin"):
                with m.If(writes):
                    m.d.sync += [axil.awvalid.eq(1), axil.wvalid.eq(1), axil.bready.eq(1)]
                    m.next = "write"
                with m.Else():
                    m.d.sync += [axil.arvalid.eq(1), axil.rready.eq(1)]
                    m.next = "read"
            with m.State("write"):
                with m.If(axil.awready):
                    m.d.sync += axil.awvalid.eq(0)
                with m.If(axil.wready):
                    m.d.sync += axil.wvalid.eq(0)
                with m.If(axil.bvalid & axil.bready):
                    m.d.sync += [axil.bready.eq(0), number.eq(number + 1)]
                    m.next = "fetch"
                    with m.If(axil.bresp != RESPONSE_OKAY):
                        m.next = "failed"
                with m.Elif(patience_ends):
                    m.next = "failed"
            with m.State("read"):
                with m.If(axil.arready):
                    m.d.sync += axil.arvalid.eq(0)
                with m.If(axil.rvalid & axil.rready):
                    m.d.sync += axil.rready.eq(0)
                    m.next = "begin"
                    with m.If(holds):
                        m.d.sync += number.eq(number + 1)
                        m.next = "fetch"
                    with m.If((axil.rresp != RESPONSE_OKAY) | (~holds & patience_ends)):
                        m.next = "failed"
                with m.Elif(patience_ends):
                    m.next = "failed"
            with m.State("done"):
                m.d.comb += self.done.eq(1)
            with m.State("failed"):
                m.d.comb += self.failed.eq(1)
        return m
