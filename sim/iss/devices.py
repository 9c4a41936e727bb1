"""Functional model of the DMA and the matrix units: registers, command words, queued work."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...hw.config import DmaBlockConfig, MachineConfig, MatrixUnitConfig
from ...hw.isa.memory_map import SHARED_BASE, UNIT_REGISTERS, numbered
from ...hw.isa.progress import PROGRESS, WaitKind
from ...hw.machine.register_blocks import unit_blocks
from ..golden.core.control.wait_table import condition_holds
from ..harness.error_registers import describe_faults
from .device.dma import STATUS as DMA_STATUS
from .device.dma import DmaDevice
from .device.memory import DeviceMemory, Memory
from .device.unit_models import UNIT_MODELS
from .device.work_queue import KINDS, SCHEDULES, Agenda, DeviceFault, Watcher
from .native_types import ISS

__all__ = ["SCHEDULES", "UNIT_SHIFT", "DeviceFault", "Devices"]

#: Status registers that programs poll, with the kinds of work that they show as done.
POLLED = dict.fromkeys((*DMA_STATUS, "busy", "running"), KINDS) | {
    "loads_done": ("load",),
    "stores_done": ("store",),
    "computes_done": ("compute",),
}
CONDITIONS = {WaitKind.AT_MOST: "at most", WaitKind.AT_LEAST: "at or past"}
#: States of a sleeping warp.
SLEEP = ISS.enumeration("Sleep")
#: Bits of a command word that name the matrix unit.
UNIT_SHIFT, UNIT_MASK = 5, 3


class Devices:
    """Bit-exact model of the units of a cluster without a clock, in a permitted order.

    Descriptors and commands are queued without limit. Each read of a status register executes one
    queued item after its value was taken, so polling makes progress, and a program that does not
    wait reads the old contents of memory. With ``schedule="random"``, a random number of items is
    executed before each access and after each poll, in any order that the machine permits.

    Commands that the hardware rejects set the error registers. `DeviceFault` is raised for
    accesses without a register, and for undefined results: a transfer or compute that overlaps an
    unordered pending one; a read of accumulator rows that no compute has written; DRAM that was
    not placed.

    Parameters
    ----------
    config : MachineConfig
    memory : Memory
        DRAM and shared memory by address: ``read(address, nbytes)`` and ``write(address, data)``.
    shared_base : int
        Address in `memory` of the cluster's shared memory.
    schedule : str
        ``round_robin`` or ``random``.
    seed : int
        Seed of the random schedule.
    allowed : callable or None
        ``allowed(address, nbytes)``: whether this DRAM may be accessed; None allows all of it.
    watcher : Watcher or None
        Observer of the work.

    """

    def __init__(
        self,
        config: MachineConfig,
        memory: Memory,
        *,
        shared_base: int = SHARED_BASE,
        schedule: str = "round_robin",
        seed: int = 1,
        allowed: Callable[[int, int], bool] | None = None,
        watcher: Watcher | None = None,
    ):
        self.agenda = Agenda(schedule, seed, watcher)
        self.dmas: list[DmaDevice] = []
        self.matrices: list[Any] = []
        if config.dma is not None:
            self.add_units(config, memory, allowed, shared_base)
        self.units: dict[str, Any] = {
            numbered(name, number): unit
            for name, units in (("dma", self.dmas), ("matrix", self.matrices))
            for number, unit in enumerate(units)
        }
        blocks = list(unit_blocks(replace(config, clusters=1)))  # as a core of any cluster has them
        self.bases = {unit: base for unit, base, _ in blocks}
        self.registers = {
            base + register.offset: (unit, name)
            for unit, base, registers in blocks
            for name, register in registers.items()
        }

    def add_units(
        self,
        config: MachineConfig,
        memory: Memory,
        allowed: Callable[[int, int], bool] | None,
        shared_base: int,
    ):
        """Add the ports of the DMA and the matrix units, which need it."""
        dma = DmaBlockConfig.of(config)
        view = DeviceMemory(dma, memory, allowed, shared_base=shared_base)
        self.dmas = [DmaDevice(self.agenda, view, n) for n in range(dma.ports)]
        self.matrices = [
            UNIT_MODELS[type(matrix)](
                MatrixUnitConfig.of(config, number),
                self.agenda,
                DeviceMemory(dma, memory, allowed, unit=number, shared_base=shared_base),
                number,
            )
            for number, matrix in enumerate(config.units)
        ]

    @property
    def dma(self) -> DmaDevice:
        """The first port of the DMA."""
        return self.dmas[0]

    @property
    def matrix(self) -> Any:
        """The first matrix unit, None without one."""
        return self.matrices[0] if self.matrices else None

    def read(self, offset: int) -> int:
        """Read the register at `offset` of the window."""
        unit, name = self.find(offset)
        self.agenda.before_access()
        value = self.units[unit].read(name)
        if name in POLLED:
            self.agenda.report_awaited(unit, POLLED[name])
            self.agenda.after_poll()
        return value

    def wait(self, offset: int, n: int) -> int:
        """Return the `Sleep` of the C++ of a warp that waits until a register reaches `n`."""
        unit, name = self.find(offset)
        self.agenda.before_access()
        is_counter = PROGRESS[name] is WaitKind.AT_LEAST
        if condition_holds(self.units[unit].read(name), n, is_counter=is_counter):
            self.agenda.report_awaited(unit, POLLED[name])
            return SLEEP["Over"]
        if self.idle:
            return SLEEP["Stuck"]
        self.agenda.after_poll()
        return SLEEP["Pending"]

    def write(self, offset: int, data: int):
        """Write the register at `offset` of the window."""
        unit, name = self.find(offset)
        self.agenda.before_access()
        self.units[unit].write(name, data)

    def cisc(self, word: int):
        """Issue a CISC command word; the first unit rejects one that names a missing unit."""
        if not self.matrices:
            raise DeviceFault(
                f"command word 0x{word:08X} needs a matrix unit; the cluster has none"
            )
        number = word >> UNIT_SHIFT & UNIT_MASK
        if number < len(self.matrices):
            word &= ~(UNIT_MASK << UNIT_SHIFT)
        else:
            number = 0
        self.write(self.bases[numbered("matrix", number)] + UNIT_REGISTERS["cisc"].offset, word)

    def advance(self) -> bool:
        """Execute one queued item; return whether there was one."""
        return self.agenda.advance()

    def finish(self):
        """Execute all queued items."""
        while self.advance():
            pass

    @property
    def idle(self) -> bool:
        """Whether the queue is empty."""
        return not self.agenda.pending

    @property
    def computes(self) -> int:
        """Number of queued computes."""
        return sum(work.kind == "compute" for work in self.agenda.pending)

    @property
    def error(self) -> bool:
        """Whether any error register is not 0."""
        return any(unit.error for unit in self.units.values())

    def errors(self) -> dict[str, int]:
        """Return the error registers, as the input of `describe_faults`."""
        values = {f"{name}_error": unit.error for name, unit in self.units.items()}
        for number, matrix in enumerate(self.matrices):
            values[f"{numbered('matrix', number)}_error_word"] = matrix.read("error_word")
        return values

    def describe_wait(self, offset: int, n: int) -> str:
        """Return the wait of a warp for the register at `offset` as text."""
        unit, name = self.find(offset)
        return f"register {unit}_{name}, until it is {CONDITIONS[PROGRESS[name]]} {n}"

    def describe(self) -> str:
        """Return progress, pending work and errors of each unit as text."""
        parts = [unit.describe() for unit in self.units.values()]
        if not self.idle:
            parts.append(f"pending: {self.agenda.describe()}")
        if errors := describe_faults(self.errors()):
            parts.append(errors)
        return "; ".join(parts)

    def find(self, offset: int) -> tuple[str, str]:
        """Return the unit and the name of the register at `offset`."""
        if offset not in self.registers:
            reason = "" if self.dmas else ": this machine has no DMA"
            raise DeviceFault(f"the register window has no register at 0x{offset:04X}{reason}")
        return self.registers[offset]
