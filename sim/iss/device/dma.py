"""Functional model of a DMA port: registers and descriptors."""

from collections import Counter

from ....hw.isa.memory_map import DMA, SHARED_BASE, numbered
from ....hw.lib.interfaces.shared_memory import Direction
from ...golden.memory.dma.dma import DmaDescriptor
from .memory import DeviceMemory
from .work_queue import Agenda, DeviceFault, Work

__all__ = ["DmaDevice"]

STATUS = ("running", "loads_done", "stores_done")
DIRECTIONS = (Direction.LOAD, Direction.STORE)
FAILED, REFUSED = 0, 1  # bits of `error`; AXI errors (`FAILED`) do not occur here
RUNNING_MAXIMUM = 255


class DmaDevice:
    """Port of the DMA: registers of `address_map.DMA`, and descriptors that `start` enqueues.

    Loads overlap and end in order. Stores execute one after the other. A load and a store are not
    ordered, nor are descriptors of different ports.

    Parameters
    ----------
    agenda : Agenda
    memory : DeviceMemory
    number : int
        Number of the port.

    """

    def __init__(self, agenda: Agenda, memory: DeviceMemory, number: int = 0):
        self.unit = numbered("dma", number)
        self.name = f"port {number} of the DMA" if number else "the DMA"
        self.agenda = agenda
        self.memory = memory
        self.values = {name: 0 for name, register in DMA.items() if "w" in register.access}
        self.done = Counter[Direction]()
        self.started = Counter[Direction]()
        self.last: dict[Direction, Work] = {}  # per direction

    @property
    def running(self) -> int:
        """Number of pending descriptors."""
        return self.started.total() - self.done.total()

    @property
    def error(self) -> int:
        """Value of the `error` register."""
        return self.values["error"]

    def read(self, name: str) -> int:
        """Read one register."""
        if "r" not in DMA[name].access:
            raise DeviceFault(f"register dma.{name} must not be read: it is write-only")
        results = {
            "running": min(self.running, RUNNING_MAXIMUM),
            "loads_done": self.done[Direction.LOAD] & 0xFFFF_FFFF,
            "stores_done": self.done[Direction.STORE] & 0xFFFF_FFFF,
        }
        return (self.values | results)[name]

    def write(self, name: str, data: int):
        """Write one register."""
        if "w" not in DMA[name].access:
            raise DeviceFault(f"register dma.{name} must not be written: it is read-only")
        if name == "error":
            self.values[name] = 0
        elif name != "start":
            self.values[name] = data
        elif data < len(DIRECTIONS):
            self.start(DIRECTIONS[data])
        else:
            raise DeviceFault(
                f"register dma.start must be 0 for a load or 1 for a store, not {data}"
            )

    def start(self, direction: Direction):
        """Enqueue the descriptor in the registers."""
        values = self.values
        descriptor = DmaDescriptor(
            direction=direction,
            **{name: values[name] for name in ("dram", "dram_pitch", "local", "local_pitch")},
            rows=values["shape"] & 0xFFFF,
            bytes=values["shape"] >> 16,
            fill_rows=values["fill"] & 0xFFFF,
            fill_bytes=values["fill"] >> 16,
        )
        number = self.started[direction] + 1
        dram, shared = f"DRAM 0x{descriptor.dram:08X}", f"0x{SHARED_BASE + descriptor.local:08X}"
        ends = (dram, shared) if direction == Direction.LOAD else (shared, dram)
        what = f"{direction.name.lower()} {number} of {self.name} ({ends[0]} to {ends[1]})"
        reads, writes = self.memory.regions(descriptor, what)
        before = [self.last[direction]] if direction in self.last else []
        work = Work(
            what=what,
            unit=self.unit,
            kind=direction.name.lower(),
            act=lambda: self.finish(descriptor),
            reads=reads,
            writes=writes,
            after=[] if direction == Direction.LOAD else before,
            beside=before if direction == Direction.LOAD else [],
        )
        self.agenda.add(work)
        self.started[direction] = number
        self.last[direction] = work

    def finish(self, descriptor: DmaDescriptor):
        """Execute a descriptor and count it."""
        self.values["error"] |= self.memory.run(descriptor) << REFUSED
        self.done[descriptor.direction] += 1

    def describe(self) -> str:
        """Return the progress of the port as text."""
        name = self.name.removeprefix("the ")
        return (
            f"{name}: {self.running} program descriptors pending, {self.done[Direction.LOAD]} "
            f"loads and {self.done[Direction.STORE]} stores done"
        )
