"""C++ harness of a machine: DRAM model, host and AXI ports, driven through ctypes."""

import ctypes
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...hw.base.errors import UserError
from ...hw.isa.memory_map import DRAM_BASE, DRAM_END
from .dram import ChannelStatistics, DramConfig, Fault

__all__ = ["Harness", "HarnessState", "RawStatistics", "response_name"]


class Parameters(ctypes.Structure):
    """`DramParameters` of sim/native/memory/dram.hpp."""

    _fields_ = [
        ("base", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("bytes_per_cycle", ctypes.c_double),
        *((name, ctypes.c_uint32) for name in ("channels", "interleave_bytes", "latency")),
        *((name, ctypes.c_uint32) for name in ("banks", "row_bytes", "row_cycle")),
        *((name, ctypes.c_uint32) for name in ("activate_gap", "turnaround", "read_queue")),
        *((name, ctypes.c_uint32) for name in ("write_buffer_bytes", "jitter")),
        ("stall", ctypes.c_double),
        ("seed", ctypes.c_uint64),
    ]


class RawStatistics(ctypes.Structure):
    """`ChannelStatistics` of sim/native/memory/dram.hpp, with bus time in 1/65536 cycles."""

    _fields_ = [(field.name, ctypes.c_uint64) for field in dataclasses.fields(ChannelStatistics)]

    def statistics(self) -> ChannelStatistics:
        """Return the statistics with bus time in cycles."""
        values = {field[0]: getattr(self, field[0]) for field in self._fields_}
        values["bus_cycles"] /= 65536
        return ChannelStatistics(**values)


class HarnessState(ctypes.Structure):
    """`HarnessState` of sim/native/harness.hpp."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("stop", "current_command", "last_read", "errors")),
        *((name, ctypes.c_uint64) for name in ("cycle", "start", "first_command")),
        *((name, ctypes.c_uint64) for name in ("last_response", "last_progress", "reads")),
    ]

    stop: int
    current_command: int
    last_read: int
    errors: int
    cycle: int
    start: int
    first_command: int
    last_response: int
    last_progress: int
    reads: int


class Harness:
    """C++ harness of a run: DRAM, AXI ports, host and watchdog, from a compiled library.

    Parameters
    ----------
    library : Path
        Library that was built with the harness.
    table : str
        Ports of the design (`Layout.table`).
    dram : DramConfig
    channels : int
        AXI masters.
    interleave_bytes : int
        Bytes of consecutive addresses on one master.
    access_cycles : int
        Cycles from the start of one host access to the start of the next.

    """

    def __init__(
        self,
        library: Path,
        table: str,
        dram: DramConfig,
        *,
        channels: int,
        interleave_bytes: int,
        access_cycles: int,
    ):
        self.library = ctypes.CDLL(str(library))
        self.channels = channels
        values = dataclasses.asdict(dram)
        parameters = Parameters(
            base=DRAM_BASE,
            end=DRAM_END,
            channels=channels,
            interleave_bytes=interleave_bytes,
            **values,
        )
        create = self.library.harness_create
        create.restype = ctypes.c_void_p
        create.argtypes = [ctypes.c_char_p, ctypes.POINTER(Parameters), ctypes.c_uint32]
        self.handle = ctypes.c_void_p(
            create(table.encode(), ctypes.byref(parameters), access_cycles)
        )
        self.step = self.library.harness_step
        self.step.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

    def close(self) -> None:
        """Free the C++ objects."""
        if self.handle:
            self.library.harness_destroy(self.handle)
            self.handle = ctypes.c_void_p()

    def begin(
        self, commands: np.ndarray, *, max_cycles: int, watchdog: int, stop_on_error: bool
    ) -> None:
        """Start a command list of the host."""
        self.library.harness_begin(
            self.handle,
            ctypes.c_void_p(commands.ctypes.data),
            ctypes.c_uint64(len(commands)),
            ctypes.c_uint64(max_cycles),
            ctypes.c_uint64(watchdog),
            ctypes.c_int(stop_on_error),
        )

    def go_on(self, max_cycles: int) -> None:
        """Continue a list that reached its cycle limit, up to a new limit."""
        self.library.harness_go_on(self.handle, ctypes.c_uint64(max_cycles))

    def commands(self) -> np.ndarray:
        """Return the host's command list."""
        words = ctypes.c_void_p()
        self.library.harness_commands.restype = ctypes.c_uint64
        count = self.library.harness_commands(self.handle, ctypes.byref(words))
        data = ctypes.string_at(words.value, 16 * count) if count and words.value else b""
        return np.frombuffer(data, np.uint32).reshape(-1, 4)

    def state(self) -> HarnessState:
        """Return the state of the run."""
        state = HarnessState()
        self.library.harness_state(self.handle, ctypes.byref(state))
        return state

    def reads(self) -> np.ndarray:
        """Return the results of the READ commands so far."""
        values = np.zeros(self.state().reads, np.uint32)
        self.library.harness_reads(self.handle, ctypes.c_void_p(values.ctypes.data))
        return values

    def errors(self) -> list[tuple[int, int, int]]:
        """Return command, address and response of every refused access."""
        found = []
        for index in range(self.state().errors):
            triple = (ctypes.c_uint32 * 3)()
            self.library.harness_error(self.handle, index, triple)
            found.append((triple[0], triple[1], triple[2]))
        return found

    def violation(self) -> str:
        """Return the first violation of the AXI rules, or an empty string."""
        text = ctypes.create_string_buffer(512)
        self.library.harness_violation(self.handle, text, ctypes.c_uint64(511))
        return text.value.decode()

    def statistics(self) -> list[ChannelStatistics]:
        """Return the statistics of each channel since its creation."""
        return [self.channel(number)[0] for number in range(self.channels)]

    def channel(self, number: int) -> tuple[ChannelStatistics, int, int]:
        """Return a channel's statistics, and its outstanding reads and writes."""
        raw, outstanding = RawStatistics(), (ctypes.c_uint64 * 2)()
        self.library.harness_channel(self.handle, number, ctypes.byref(raw), outstanding)
        return raw.statistics(), outstanding[0], outstanding[1]

    def inject(self, faults: Sequence[Fault]) -> None:
        """Replace the address ranges that answer with an error."""
        self.library.harness_clear_faults(self.handle)
        for fault in faults:
            self.library.harness_fault(
                self.handle,
                ctypes.c_uint64(fault.start),
                ctypes.c_uint64(fault.end),
                fault.reads,
                fault.writes,
            )

    def write(self, address: int, data: bytes) -> None:
        """Write bytes to DRAM."""
        size = ctypes.c_uint64(len(data))
        if not self.library.memory_write(self.handle, ctypes.c_uint64(address), data, size):
            raise UserError(outside(address, len(data)))

    def read(self, address: int, size: int) -> np.ndarray:
        """Read bytes of DRAM."""
        data = np.empty(size, np.uint8)
        if not self.library.memory_read(
            self.handle,
            ctypes.c_uint64(address),
            ctypes.c_void_p(data.ctypes.data),
            ctypes.c_uint64(size),
        ):
            raise UserError(outside(address, size))
        return data


def response_name(response: int) -> str:
    """Return the name of an AXI response that is an error."""
    return {2: "SLVERR", 3: "DECERR"}.get(response, f"response {response}")


def outside(address: int, size: int) -> str:
    """Return the error message for bytes outside DRAM."""
    return (
        f"DRAM addresses must lie in 0x{DRAM_BASE:08X} to 0x{DRAM_END - 1:08X}, "
        f"not {size} bytes at 0x{address:08X}"
    )
