"""Python binding of the C++ harness around cores: memory, progress and stop reason."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ...kernels.commands import CommandList
from .binding import Layout
from .core_memory import CoreMemoryConfig, native_core_memory
from .dram import ChannelStatistics, DramConfig
from .harness import Harness
from .stop_reason import StopReason

__all__ = ["NEVER", "CoreHarness", "CoreMarks", "CoreState", "CoresState", "ProgramHarness"]

#: Cycle number of an event that has not happened.
NEVER = (1 << 64) - 1
MAX_WARPS = 32
REASONS = 16
#: Numbers of a `Port`.
PORTS = 8


def words(*names: str) -> Iterator[tuple[str, type[ctypes.c_uint32]]]:
    """Yield 32-bit fields of these names."""
    return ((name, ctypes.c_uint32) for name in names)


class CoresState(ctypes.Structure):
    """`CoresState` of sim/native/cores/cores.hpp."""

    _fields_ = (
        ("cycles", ctypes.c_uint64),
        ("last_progress", ctypes.c_uint64),
        ("stop", ctypes.c_uint32),
        ("core", ctypes.c_uint32),
    )


class CoreState(ctypes.Structure):
    """`CoreState` of sim/native/cores/core_monitor.hpp: counts and final state of one core.

    By warp, `pc` and `port` are those of its last issued instruction, `under_way` the number of
    its instructions in flight, `reason` its `StallReason`.
    """

    _fields_ = (
        *(
            (name, ctypes.c_uint64)
            for name in (
                *("cycles", "instructions", "collected", "last_collected", "last_done"),
                *("fetches", "loads", "stores"),
            )
        ),
        ("slots", ctypes.c_uint64 * REASONS),
        ("unit_cycles", ctypes.c_uint64 * PORTS),
        ("lost", ctypes.c_uint64 * REASONS * PORTS),
        *words("owed_fetches", "owed_requests", "busy", "active", "at_barrier"),
        ("exit_code", ctypes.c_int32),
        *words("fault", "fault_warp", "fault_pc", "fault_cause", "fault_lanes", "fault_address"),
        *((name, ctypes.c_uint32 * MAX_WARPS) for name in ("pc", "under_way", "reason", "port")),
    )


class CoreMarks(ctypes.Structure):
    """`CoreMarks` of sim/native/cores/markers.hpp."""

    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("first_begin", "last_end", "begins", "ends")
    )

    @property
    def cycles(self) -> tuple[int | None, int | None]:
        """Completion of the first begin marker and of the last end marker; None if not reached."""
        first, last = (
            None if cycle == NEVER else cycle for cycle in (self.first_begin, self.last_end)
        )
        return first, last


class ProgramHarness(Harness):
    """Harness with cores that run programs: progress and observers.

    Cores alone have no host or channels; a cluster overrides the methods on them.
    """

    config: ClusterConfig

    def prepare(self, commands: CommandList | None) -> None:
        """Queue host commands for the next run."""
        if commands is not None:
            raise UserError("commands need the host of a cluster")

    def renew(self) -> None:
        """Reset host and AXI ports to their initial state; memory keeps its contents."""

    def error(self) -> str:
        """Return the error that stopped the run without an outcome, or an empty string."""
        raise NotImplementedError

    def marks(self) -> list[CoreMarks]:
        """Return the markers of each core in this run."""
        found = [CoreMarks() for _ in range(self.config.cores)]
        for core, marks in enumerate(found):
            self.library.harness_cores_marks(
                self.handle, ctypes.c_uint32(core), ctypes.byref(marks)
            )
        return found

    def marked(self) -> list[ChannelStatistics]:
        """Return each channel's statistics at the completion of the first begin marker."""
        return []

    def cores_end(self) -> int:
        """Return the first cycle of the run after which no core was busy."""
        return self.cores_state().cycles

    def begin_cores(self, starts: bool, *, max_cycles: int, watchdog: int) -> None:
        """Start the cores, or continue a run."""
        self.library.harness_cores_begin(
            self.handle,
            ctypes.c_int(starts),
            ctypes.c_uint64(max_cycles),
            ctypes.c_uint64(watchdog),
        )

    def forget_observers(self) -> None:
        """Free all observers of the cores."""
        self.library.harness_forget_observers(self.handle)

    def cores_state(self) -> CoresState:
        """Return the state of the run."""
        state = CoresState()
        self.library.harness_cores_state(self.handle, ctypes.byref(state))
        return state

    def core_state(self, core: int) -> CoreState:
        """Return the state of a core; during a run only its counts are current."""
        state = CoreState()
        self.library.harness_core_state(self.handle, ctypes.c_uint32(core), ctypes.byref(state))
        return state

    def console_from(self, start: int) -> bytes:
        """Return the console output after the first `start` bytes."""
        text = ctypes.c_void_p()
        self.library.harness_console.restype = ctypes.c_uint64
        size = self.library.harness_console(self.handle, ctypes.byref(text))
        return ctypes.string_at((text.value or 0) + start, size - start) if size > start else b""

    def allow(self, address: int, nbytes: int) -> None:
        """Allow programs these bytes of DRAM; the first call forbids all others."""
        if nbytes < 1 or address < 0 or address + nbytes > 1 << 32:
            raise UserError(
                f"a region must be 1 byte or more of 32-bit addresses, not {nbytes} at {address:#x}"
            )
        self.library.harness_allow(
            self.handle, ctypes.c_uint64(address), ctypes.c_uint64(address + nbytes - 1)
        )


class CoreHarness(ProgramHarness):
    """Harness with the memory of cores and their counts.

    Parameters
    ----------
    library : Path
        A library built with the harness.
    layout : Layout
        Ports of `Cores`.
    config : ClusterConfig
    memory : CoreMemoryConfig

    """

    def __init__(
        self, library: Path, layout: Layout, config: ClusterConfig, memory: CoreMemoryConfig
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
        self.library.harness_cores(self.handle, ctypes.byref(native_core_memory(memory, config)))

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
        self.reach("harness_cores_read", address, ctypes.c_void_p(data.ctypes.data), size)
        return data

    def reach(self, function: str, address: int, data, size: int) -> None:
        """Copy bytes between an array and memory."""
        is_inside = 0 <= address < 1 << 32
        if not is_inside or not getattr(self.library, function)(
            self.handle, ctypes.c_uint64(address), data, ctypes.c_uint64(size)
        ):
            raise UserError(
                f"address must be in DRAM or shared memory for {size} bytes, not {address:#x}"
            )
