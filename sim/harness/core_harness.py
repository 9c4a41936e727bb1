"""Python binding of the C++ harness around cores: memory, progress and stop reason."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...base.errors import UserError
from ...base.native_interface import NativeStructure
from ...hw.config import MachineConfig
from ...kernels.commands import CommandList
from .binding import Layout
from .core_memory import CoreMemoryConfig, native_core_memory
from .dram import ChannelStatistics, DramConfig
from .harness import Harness
from .launch import Launch
from .stop_reason import StopReason

__all__ = ["NEVER", "CoreHarness", "ProgramHarness", "marked_cycles"]

#: Cycle number of an event that has not happened.
NEVER = (1 << 64) - 1


def marked_cycles(marks: NativeStructure) -> tuple[int | None, int | None]:
    """Return the completion of the first begin marker and of the last end marker, if reached."""
    first, last = (
        None if cycle == NEVER else cycle for cycle in (marks.first_begin, marks.last_end)
    )
    return first, last


class ProgramHarness(Harness):
    """Harness with cores that run programs: progress and observers.

    Cores alone have no host or channels; a cluster overrides the methods on them.
    """

    config: MachineConfig

    def prepare(self, commands: CommandList | None, launches: Sequence[Launch]) -> None:
        """Queue host commands for the next run."""
        if commands is not None:
            raise UserError("commands need the host of a cluster")

    def renew(self) -> None:
        """Reset host and AXI ports to their initial state; memory keeps its contents."""

    def error(self) -> str:
        """Return the error that stopped the run without an outcome, or an empty string."""
        raise NotImplementedError

    def marks(self) -> list[NativeStructure]:
        """Return the markers of each core in this run, as `CoreMarks` of the C++."""
        read = self.library.harness_cores_marks
        return [read(self.handle, core) for core in range(self.config.all_cores)]

    def marked(self) -> list[ChannelStatistics]:
        """Return each channel's statistics at the completion of the first begin marker."""
        return []

    def cores_end(self) -> int:
        """Return the first cycle of the run after which no core was busy."""
        return self.cores_state().cycles

    def begin_cores(self, starts: bool, *, max_cycles: int, watchdog: int) -> None:
        """Start the cores, or continue a run."""
        self.library.harness_cores_begin(self.handle, starts, max_cycles, watchdog)

    def remove_observers(self) -> None:
        """Free all observers of the cores."""
        self.library.harness_remove_observers(self.handle)

    def cores_state(self) -> NativeStructure:
        """Return the state of the run, a `CoresState` of the C++."""
        return self.library.harness_cores_state(self.handle)

    def core_state(self, core: int) -> NativeStructure:
        """Return the `CoreState` of the C++; during a run only its counts are current."""
        return self.library.harness_core_state(self.handle, core)

    def console_from(self, start: int) -> bytes:
        """Return the console output after the first `start` bytes."""
        text = self.library.harness_console(self.handle)
        start = min(start, text.size)
        return ctypes.string_at((text.data or 0) + start, text.size - start)

    def allow(self, address: int, nbytes: int) -> None:
        """Allow programs these bytes of DRAM; the first call forbids all others."""
        if nbytes < 1 or address < 0 or address + nbytes > 1 << 32:
            raise UserError(
                f"a region must be 1 byte or more of 32-bit addresses, not {nbytes} at {address:#x}"
            )
        self.library.harness_allow(self.handle, address, address + nbytes - 1)


class CoreHarness(ProgramHarness):
    """Harness with the memory of cores and their counts.

    Parameters
    ----------
    library : Path
        A library built with the harness.
    layout : Layout
        Ports of `Cores`.
    config : MachineConfig
    memory : CoreMemoryConfig

    """

    def __init__(
        self, library: Path, layout: Layout, config: MachineConfig, memory: CoreMemoryConfig
    ):
        super().__init__(
            library,
            layout.table(),
            DramConfig(),
            channels=0,
            interleave_bytes=64,
            access_cycles=1,
        )
        self.config = config
        self.library.harness_cores(self.handle, native_core_memory(memory, config))

    def error(self) -> str:
        """Return the violated rule of the cores' memory ports, or an empty string."""
        if self.state().stop != StopReason.VIOLATION:
            return ""
        return f"{self.violation()}, in cycle {self.cores_state().cycles}"

    def write(self, address: int, data: bytes) -> None:
        """Write bytes to DRAM, shared memory or the address range behind it."""
        self.reach("harness_cores_write", address, data, len(data))

    def read(self, address: int, size: int) -> np.ndarray:
        """Return bytes from the addresses of `write`."""
        data = np.empty(size, np.uint8)
        self.reach("harness_cores_read", address, data, size)
        return data

    def reach(self, function: str, address: int, data, size: int) -> None:
        """Copy bytes between an array and memory."""
        is_inside = 0 <= address < 1 << 32
        if not is_inside or not getattr(self.library, function)(self.handle, address, data, size):
            raise UserError(
                f"address must be in DRAM or shared memory for {size} bytes, not {address:#x}"
            )
