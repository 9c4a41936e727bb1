"""The DMA's registers, as a program sees them."""

from collections import Counter

from ....hw.isa.memory_map import DMA, SHARED_BASE
from ....hw.lib.interfaces.shared_memory import Direction
from ...golden.memory.dma.dma import DmaJob
from .memory import DeviceMemory
from .work_queue import Agenda, DeviceFault, Work

__all__ = ["DmaDevice"]

STATUS = ("running", "loads_done", "stores_done")
DIRECTIONS = (Direction.LOAD, Direction.STORE)
FAILED, REFUSED = 0, 1  # bits of `error`; nothing fails here
RUNNING_MAXIMUM = 255


class DmaDevice:
    """A port of the DMA: registers of `address_map.DMA`, and the jobs that their `start` begins.

    Loads end in order, but several are under way at a time. Stores are done one after the other.
    Nothing orders a load and a store, nor jobs of different ports.

    Parameters
    ----------
    agenda : Agenda
    memory : DeviceMemory
    number : int
        Of the port.

    """

    def __init__(self, agenda: Agenda, memory: DeviceMemory, number: int = 0):
        self.name = f"port {number} of the DMA" if number else "the DMA"
        self.agenda = agenda
        self.memory = memory
        self.values = {name: 0 for name, register in DMA.items() if "w" in register.access}
        self.done = Counter[Direction]()
        self.started = Counter[Direction]()
        self.last: dict[Direction, Work] = {}  # of each direction

    @property
    def running(self) -> int:
        """Jobs not yet done."""
        return self.started.total() - self.done.total()

    @property
    def error(self) -> int:
        """The register of that name."""
        return self.values["error"]

    def read(self, name: str) -> int:
        """Read one register."""
        if "r" not in DMA[name].access:
            raise DeviceFault(f"register dma.{name} must not be read: it starts a job when written")
        results = {
            "running": min(self.running, RUNNING_MAXIMUM),
            "loads_done": self.done[Direction.LOAD] & 0xFFFF_FFFF,
            "stores_done": self.done[Direction.STORE] & 0xFFFF_FFFF,
        }
        return (self.values | results)[name]

    def write(self, name: str, data: int):
        """Write one register."""
        if "w" not in DMA[name].access:
            raise DeviceFault(f"register dma.{name} must not be written: it tells how far jobs are")
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
        """Begin the job that the registers describe."""
        values = self.values
        job = DmaJob(
            direction=direction,
            **{name: values[name] for name in ("dram", "dram_pitch", "local", "local_pitch")},
            rows=values["shape"] & 0xFFFF,
            bytes=values["shape"] >> 16,
            fill_rows=values["fill"] & 0xFFFF,
            fill_bytes=values["fill"] >> 16,
        )
        number = self.started[direction] + 1
        dram, shared = f"DRAM 0x{job.dram:08X}", f"0x{SHARED_BASE + job.local:08X}"
        ends = (dram, shared) if direction == Direction.LOAD else (shared, dram)
        what = f"{direction.name.lower()} {number} of {self.name} ({ends[0]} to {ends[1]})"
        reads, writes = self.memory.regions(job, what)
        before = [self.last[direction]] if direction in self.last else []
        work = Work(
            what=what,
            kind=direction.name.lower(),
            act=lambda: self.finish(job),
            reads=reads,
            writes=writes,
            after=[] if direction == Direction.LOAD else before,
            beside=before if direction == Direction.LOAD else [],
        )
        self.agenda.add(work)
        self.started[direction] = number
        self.last[direction] = work

    def finish(self, job: DmaJob):
        """Carry out a job and count it."""
        self.values["error"] |= self.memory.run(job) << REFUSED
        self.done[job.direction] += 1

    def describe(self) -> str:
        """Return how far it is."""
        name = self.name.removeprefix("the ")
        return (
            f"{name}: {self.running} jobs of programs unfinished, {self.done[Direction.LOAD]} "
            f"loads and {self.done[Direction.STORE]} stores done"
        )
