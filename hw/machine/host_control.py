"""Control port of a cluster: the host's registers over AXI4-Lite."""

from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from ..cluster.counters import CounterRegister, counter_events
from ..config import MachineConfig
from ..emit.component import Component
from ..emit.shared_block import SharedBlock
from ..isa.memory_map import (
    CONTROL,
    CONTROL_BASE,
    CORES_BASE,
    COUNTERS_BASE,
    COUNTERS_END,
    IDENTITY,
    MAP_VERSION,
    MATRIX_STRIDE,
    SLAVE_ADDRESS_WIDTH,
    unit_bases,
)
from ..lib.axi import Axi4LiteSignature
from ..lib.register_bridge import RegisterBlock, RegisterBridge, RegisterBridgeConfig, decode
from ..lib.register_bus import RegisterSignature
from .counters import COUNTERS_ADDRESS_WIDTH, Counters, counter_table
from .interrupts import Interrupts, write_layout

__all__ = ["Control", "ControlConfig", "ControlRegisters", "control_map"]

UNIT_ADDRESS_WIDTH = 8


@dataclass(frozen=True, kw_only=True)
class ControlConfig:
    """The units of a machine as the host sees them.

    Parameters
    ----------
    has_cores, has_dma : bool
    matrices : int
        Matrix units of a cluster.
    clusters : int
    counters : tuple of CounterRegister

    """

    has_cores: bool
    has_dma: bool
    matrices: int
    clusters: int
    counters: tuple[CounterRegister, ...]

    @classmethod
    def of(cls, machine: MachineConfig) -> "ControlConfig":
        """Return the config of the control port of a machine."""
        return cls(
            has_cores=machine.cores > 0,
            has_dma=machine.dma is not None,
            matrices=len(machine.units),
            clusters=machine.clusters,
            counters=tuple(row.register for row in counter_table(machine)),
        )

    @property
    def unit_bases(self) -> dict[str, int]:
        """Base address of the registers of each port of the DMA, then of each matrix unit."""
        return unit_bases(self.matrices, has_dma=self.has_dma, clusters=self.clusters)


def control_map(config: ControlConfig) -> RegisterBridgeConfig:
    """Return the register blocks of a machine."""
    units = {"control": CONTROL_BASE} | config.unit_bases
    if config.has_cores:
        units["cores"] = CORES_BASE
    units = dict(sorted(units.items(), key=lambda unit: unit[1]))
    counters = RegisterBlock(
        name="counters",
        base=COUNTERS_BASE,
        size=COUNTERS_END - COUNTERS_BASE,
        address_width=COUNTERS_ADDRESS_WIDTH,
    )
    blocks = [
        RegisterBlock(name=name, base=base, size=MATRIX_STRIDE, address_width=UNIT_ADDRESS_WIDTH)
        for name, base in units.items()
    ]
    return RegisterBridgeConfig(address_width=SLAVE_ADDRESS_WIDTH, blocks=(*blocks, counters))


class ControlRegisters(Component):
    """The registers of `address_map.CONTROL`: identity, status, cycle counter and interrupts.

    Requests are never held. Writes other than to interrupts, and addresses without a register, are
    refused. A read of ``cycle_low`` latches the value of ``cycle_high``.

    Parameters
    ----------
    status_width : int
        Bits of the status register.

    Members
    -------
    registers : In(RegisterSignature(8))
    status : In(status_width)
        Bits of the status register; read one cycle later.
    irq : Out(1)
        See `Interrupts`; an event raises it 3 cycles after the status shows it.

    Attributes
    ----------
    cycle : Signal
        The cycle counter; a test can preset it close to overflow.

    """

    def __init__(self, status_width: int = 3):
        super().__init__({
            "registers": In(RegisterSignature(UNIT_ADDRESS_WIDTH)),
            "status": In(status_width),
            "irq": Out(1),
        })
        self.cycle = Signal(data.StructLayout({"low": 32, "high": 32}))

    def elaborate(self, platform):
        m = Module()
        request = self.registers.request
        response = self.registers.response
        cycle = self.cycle
        carry = Signal()
        cycle_high = Signal(32, reset_less=True)
        status = Signal.like(self.status)
        m.submodules.interrupts = interrupts = Interrupts(len(status))
        values = {
            "identity": C(IDENTITY, 32),
            "version": C(MAP_VERSION, 32),
            "status": status,
            "cycle_low": cycle.low,
            "cycle_high": cycle_high,
            "interrupt_enable": interrupts.enable,
            "interrupt_pending": interrupts.pending,
        }
        # Two halves with carry look-ahead: a 64-bit increment is the longest path of this block.
        m.d.sync += [
            cycle.low.eq(cycle.low + 1),
            carry.eq(cycle.low == 0xFFFF_FFFE),
            cycle.high.eq(cycle.high + carry),
            status.eq(self.status),
        ]
        m.d.comb += request.ready.eq(1)
        addresses = [[register.offset] for register in CONTROL.values()]
        named = decode(m, request.payload.address, addresses, "named")
        chosen = dict(zip(CONTROL, named, strict=False))
        data_of = [Mux(chosen[name], value, 0) for name, value in values.items()]
        write = Signal(write_layout())
        is_write = request.valid & request.payload.write
        m.d.comb += [
            write.word.eq(request.payload.data),
            write.enable.eq(is_write & chosen["interrupt_enable"]),
            write.pending.eq(is_write & chosen["interrupt_pending"]),
            interrupts.status.eq(status),
            interrupts.write.eq(write),
            self.irq.eq(interrupts.irq),
        ]
        is_read_only = Cat(
            hit for name, hit in chosen.items() if "w" not in CONTROL[name].access
        ).any()
        m.d.sync += [
            response.valid.eq(request.valid),
            response.payload.data.eq(reduce(or_, data_of)),
            response.payload.error.eq(named[-1] | (request.payload.write & is_read_only)),
        ]
        with m.If(request.valid & chosen["cycle_low"] & ~request.payload.write):
            m.d.sync += cycle_high.eq(cycle.high)
        return m


class Control(SharedBlock):
    """Host-visible registers: control registers, counters and the registers of the units.

    Accesses, latency and refusals: `RegisterBridge`. Addresses: `address_map`. The block counts
    cycles and is never idle, so its clock must not be gated.

    Parameters
    ----------
    config : ControlConfig

    Members
    -------
    s_axil : In(Axi4LiteSignature(address_width=16))
    units : Out(RegisterSignature(8)).array(units)
        Registers of each port of the DMA, then of each matrix unit.
    cores : Out(RegisterSignature(8))
        Only if the cluster has cores.
    dma_busy, matrix_busy, error : In(1)
        Status bits 0 to 2, ORed over all units.
    cores_run : In(1)
        Status bit 3, only if the cluster has cores.
    irq : Out(1)
        See `ControlRegisters`.
    events : In(counter_events(config.counters))
        Events of this cycle, by counter name.
    """

    def __init__(self, config: ControlConfig):
        self.config = config
        self.bases = config.unit_bases
        members = {
            "s_axil": In(Axi4LiteSignature(address_width=SLAVE_ADDRESS_WIDTH)),
            "dma_busy": In(1),
            "matrix_busy": In(1),
            "error": In(1),
            "irq": Out(1),
            "events": In(counter_events(config.counters)),
            "units": Out(RegisterSignature(UNIT_ADDRESS_WIDTH)).array(len(self.bases)),
        }
        if config.has_cores:
            members["cores"] = Out(RegisterSignature(UNIT_ADDRESS_WIDTH))
            members["cores_run"] = In(1)
        super().__init__(members)

    def build(self, platform):
        m = Module()
        m.submodules.bridge = bridge = RegisterBridge(control_map(self.config))
        status = [self.dma_busy, self.matrix_busy, self.error]
        status += [self.cores_run] if self.config.has_cores else []
        m.submodules.registers = registers = ControlRegisters(len(status))
        m.submodules.counters = counters = Counters(self.config.counters)
        connect(m, flipped(self.s_axil), bridge.s_axil)
        units = {
            "control": registers.registers,
            "counters": counters.registers,
        }
        for unit, port in zip(self.bases, self.units, strict=True):
            units[unit] = flipped(port)
        if self.config.has_cores:
            units["cores"] = flipped(self.cores)
        for name, unit in units.items():
            connect(m, getattr(bridge, name), unit)
        m.d.comb += [
            registers.status.eq(Cat(status)),
            self.irq.eq(registers.irq),
            counters.events.eq(self.events),
        ]
        return m
