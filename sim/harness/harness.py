"""C++ harness of a machine: DRAM model, host and AXI ports, driven from Python."""

import ctypes
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...base.errors import UserError
from ...base.native_interface import NativeLibrary, NativeStructure
from ...hw.isa.memory_map import DRAM_BASE, DRAM_END
from .dram import ChannelStatistics, DramConfig, Fault
from .interface import HARNESS

__all__ = ["Harness", "channel_statistics", "response_name"]


def channel_statistics(native: NativeStructure) -> ChannelStatistics:
    """Return the statistics of a channel, with bus time in cycles: in C++ it is 1/65536 cycles."""
    names = [field.name for field in dataclasses.fields(ChannelStatistics)]
    values = {name: getattr(native, name) for name in names}
    return ChannelStatistics(**values | {"bus_cycles": native.bus_cycles / 65536})


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
        self.library = NativeLibrary(library, HARNESS)
        self.channels = channels
        parameters = HARNESS.structure("DramParameters")(
            base=DRAM_BASE,
            end=DRAM_END,
            channels=channels,
            interleave_bytes=interleave_bytes,
            **dataclasses.asdict(dram),
        )
        self.handle = self.library.harness_create(table.encode(), parameters, access_cycles)
        self.step = self.library.harness_step

    def close(self) -> None:
        """Free the C++ objects."""
        if self.handle:
            self.library.harness_destroy(self.handle)
            self.handle = None

    def begin(
        self, commands: np.ndarray, *, max_cycles: int, watchdog: int, stop_on_error: bool
    ) -> None:
        """Start a command list of the host."""
        self.library.harness_begin(
            self.handle, commands, len(commands), max_cycles, watchdog, stop_on_error
        )

    def resume(self, max_cycles: int) -> None:
        """Continue a list that reached its cycle limit, up to a new limit."""
        self.library.harness_resume(self.handle, max_cycles)

    def commands(self) -> np.ndarray:
        """Return the host's command list."""
        words = self.library.harness_commands(self.handle)
        data = ctypes.string_at(words.data, words.size)
        return np.frombuffer(data, np.uint32).reshape(-1, 4)

    def state(self) -> NativeStructure:
        """Return the state of the run, a `HarnessState` of the C++."""
        return self.library.harness_state(self.handle)

    def reads(self) -> np.ndarray:
        """Return the results of the READ commands so far."""
        values = np.zeros(self.state().reads, np.uint32)
        self.library.harness_reads(self.handle, values)
        return values

    def errors(self) -> list[tuple[int, int, int]]:
        """Return command, address and response of every refused access."""
        errors = []
        for index in range(self.state().errors):
            triple = (ctypes.c_uint32 * 3)()
            self.library.harness_error(self.handle, index, triple)
            errors.append((triple[0], triple[1], triple[2]))
        return errors

    def violation(self) -> str:
        """Return the first violation of the AXI rules, or an empty string."""
        text = ctypes.create_string_buffer(512)
        self.library.harness_violation(self.handle, text, 511)
        return text.value.decode()

    def statistics(self) -> list[ChannelStatistics]:
        """Return the statistics of each channel since its creation."""
        return [self.channel(number)[0] for number in range(self.channels)]

    def channel(self, number: int) -> tuple[ChannelStatistics, int, int]:
        """Return a channel's statistics, and its outstanding reads and writes."""
        outstanding = (ctypes.c_uint64 * 2)()
        native = self.library.harness_channel(self.handle, number, outstanding)
        return channel_statistics(native), outstanding[0], outstanding[1]

    def inject(self, faults: Sequence[Fault]) -> None:
        """Replace the address ranges that answer with an error."""
        self.library.harness_clear_faults(self.handle)
        for fault in faults:
            self.library.harness_fault(
                self.handle, fault.start, fault.end, fault.reads, fault.writes
            )

    def write(self, address: int, data: bytes) -> None:
        """Write bytes to DRAM."""
        if not self.library.memory_write(self.handle, address, data, len(data)):
            raise UserError(outside(address, len(data)))

    def read(self, address: int, size: int) -> np.ndarray:
        """Read bytes of DRAM."""
        data = np.empty(size, np.uint8)
        if not self.library.memory_read(self.handle, address, data, size):
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
