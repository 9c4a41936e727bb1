"""Parameters of the DRAM model, and the C++ harness that contains it."""

import ctypes
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..hw.address_map import DRAM_BASE, DRAM_END
from ..hw.config.checks import require_integer, require_power_of_two
from ..hw.errors import UserError

__all__ = [
    "ChannelStatistics",
    "DramConfig",
    "Fault",
    "Harness",
    "HarnessState",
    "RawStatistics",
    "traffic",
]


@dataclass(frozen=True, kw_only=True)
class DramConfig:
    """Timing of DRAM behind the AXI masters, one channel each; all times are in clock cycles.

    The first beat of a read at an idle channel comes `latency` cycles after its address was
    accepted. Further bursts stream at the channel's share of `bytes_per_cycle`.

    Parameters
    ----------
    bytes_per_cycle : float
        Bandwidth of all channels together, sum of reads and writes.
    latency : int
        Cycles from an accepted read address to its first beat, and from the last beat of a write
        to its response.
    banks : int
        Banks of a channel; a power of two.
    row_bytes : int
        Bytes of an open row; a power of two.
    row_cycle : int
        Cycles between two rows of one bank. An access to the open row has no delay.
    activate_gap : int
        Cycles between rows opened in different banks of a channel.
    turnaround : int
        Cycles lost when the bus changes between reads and writes.
    read_queue : int
        Read bursts that a channel accepts before the first is answered.
    write_buffer_bytes : int
        Bytes of writes that a channel buffers before DRAM; a multiple of 4096.
    stall : float
        Fraction of cycles in which a ready or valid signal is held low, at random.
    jitter : int
        Maximum additional random cycles of a read, so that reads overtake each other, and of a
        write, which then takes effect at any time before its response.
    seed : int
        Seed of the random stalls and of the jitter.

    """

    bytes_per_cycle: float = 64.0
    latency: int = 100
    banks: int = 16
    row_bytes: int = 2048
    row_cycle: int = 20
    activate_gap: int = 2
    turnaround: int = 6
    read_queue: int = 64
    write_buffer_bytes: int = 4096
    stall: float = 0.0
    jitter: int = 0
    seed: int = 0

    def __post_init__(self):
        if not 0 < self.bytes_per_cycle <= 1024:
            raise ValueError(
                f"bytes_per_cycle must be above 0 and at most 1024, not {self.bytes_per_cycle!r}"
            )
        require_integer("latency", self.latency, 1, 10_000)
        require_power_of_two("banks", self.banks, 1, 256)
        require_power_of_two("row_bytes", self.row_bytes, 64, 1 << 16)
        require_integer("row_cycle", self.row_cycle, 0, 1000)
        require_integer("activate_gap", self.activate_gap, 0, 1000)
        require_integer("turnaround", self.turnaround, 0, 1000)
        require_integer("read_queue", self.read_queue, 1, 1024)
        require_integer("write_buffer_bytes", self.write_buffer_bytes, 4096, 1 << 20)
        if self.write_buffer_bytes % 4096:
            raise ValueError(
                f"write_buffer_bytes must be a multiple of 4096, not {self.write_buffer_bytes!r}"
            )
        if not 0 <= self.stall < 1:
            raise ValueError(f"stall must be at least 0 and below 1, not {self.stall!r}")
        require_integer("jitter", self.jitter, 0, 10_000)
        require_integer("seed", self.seed, 0, (1 << 63) - 1)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Address range whose reads or writes are answered with SLVERR."""

    start: int
    end: int
    reads: bool = True
    writes: bool = True


@dataclass(frozen=True)
class ChannelStatistics:
    """Counters of a channel: `bus_cycles` with data, `read_wait_cycles` of queued reads."""

    read_bytes: int
    write_bytes: int
    read_bursts: int
    write_bursts: int
    row_hits: int
    row_misses: int
    bus_cycles: float
    read_wait_cycles: int

    def since(self, earlier: "ChannelStatistics") -> "ChannelStatistics":
        """Return the counts since `earlier`."""
        before, after = dataclasses.astuple(earlier), dataclasses.astuple(self)
        return ChannelStatistics(*(b - a for a, b in zip(before, after, strict=True)))


class Parameters(ctypes.Structure):
    """`DramParameters` of native/dram.hpp."""

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
    """`ChannelStatistics` of native/dram.hpp, with bus time in 1/65536 cycles."""

    _fields_ = [(field.name, ctypes.c_uint64) for field in dataclasses.fields(ChannelStatistics)]

    def statistics(self) -> ChannelStatistics:
        """Return the statistics with bus time in cycles."""
        values = {field[0]: getattr(self, field[0]) for field in self._fields_}
        values["bus_cycles"] /= 65536
        return ChannelStatistics(**values)


class HarnessState(ctypes.Structure):
    """`HarnessState` of native/harness.hpp."""

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


def outside(address: int, size: int) -> str:
    """Return the error message for bytes outside DRAM."""
    return (
        f"DRAM addresses must lie in 0x{DRAM_BASE:08X} to 0x{DRAM_END - 1:08X}, "
        f"not {size} bytes at 0x{address:08X}"
    )


def traffic(
    channels: Sequence[ChannelStatistics], cycles: int, bytes_per_cycle: float | None = None
) -> dict[str, float]:
    """Return the bytes moved through all channels in `cycles`, and the bandwidth used.

    With the peak `bytes_per_cycle`, `dram_utilization` is the fraction of it that was used.
    """
    read = sum(channel.read_bytes for channel in channels)
    written = sum(channel.write_bytes for channel in channels)
    used = (read + written) / max(1, cycles)
    found = {"read_bytes": read, "written_bytes": written, "used_bytes_per_cycle": used}
    return (
        found if bytes_per_cycle is None else found | {"dram_utilization": used / bytes_per_cycle}
    )
