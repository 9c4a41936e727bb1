"""The instruction-set model of a cluster: programs run to the bit, without cycles."""

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ...hw.isa.memory_map import ENTRY
from .device_link import DeviceLink
from .devices import Devices
from .faults import REASONS, Reason, fault_of
from .host_memory import HostMemory
from .native_machine import NativeMachine, pointer_to
from .native_types import HISTORY, NativeFault, NativeRetired, native_config
from .outcome import Cause, Fault, Outcome, Retired, Statistics, Stop, WarpState
from .retirement import retired_of
from .statistics import COUNT_WORDS, statistics_of
from .warps import change_warp, describe_wait, head_of, warp_state, words_of_warp

__all__ = ["SCHEDULES", "Iss"]

SCHEDULES = ("in_turn", "random")
#: Instructions between two chances to interrupt and to print.
CHUNK = 1_000_000
STOPS = tuple(Stop)
RETIRED, CANNOT_RUN = 0, 1


class Iss:
    """A cluster's cores, executing one instruction of one warp at a time.

    Parameters
    ----------
    config : ClusterConfig
        With cores.
    schedule : str
        ``in_turn`` executes one instruction of each warp that can run after the other;
        ``random`` one of any of them, so that races show.
    seed : int
        Of the random schedule.

    Attributes
    ----------
    console : bytes
        All that was printed since the last reset.
    on_console : callable or None
        Told what is printed, while a program runs.
    statistics : Statistics
        What was executed since the last reset.
    memory : HostMemory
        What `read` and `write` reach, for who needs no more of a machine.
    devices : Devices
        The DMA and the matrix unit, new with every reset.

    """

    def __init__(self, config: ClusterConfig, *, schedule: str = "in_turn", seed: int = 1):
        if config.core is None:
            raise UserError("the instruction-set model needs cores, and this cluster has none")
        if schedule not in SCHEDULES:
            raise UserError(f"schedule must be one of {', '.join(SCHEDULES)}, not {schedule!r}")
        self.config = config
        self.core = config.core
        self.schedule = schedule
        self.seed = seed
        self.on_console: Callable[[bytes], None] | None = None
        self.native = NativeMachine(
            native_config(config, config.core, is_random=schedule == "random", seed=seed)
        )
        self.memory = HostMemory(self.native)
        self.reset()

    def reset(self, entry: int = ENTRY) -> None:
        """Put every warp into its first state, warp 0 of each core at `entry`; keep memory."""
        if entry % 4 or not 0 <= entry < 1 << 32:
            raise UserError(f"entry must be a multiple of 4 of 32 bits, not {entry:#x}")
        self.devices = Devices(
            self.config,
            self.memory,
            schedule=self.schedule,
            seed=self.seed,
            allowed=self.memory.is_allowed,
        )
        self.link = DeviceLink(self.devices)
        self.native.call("iss_devices", ctypes.byref(self.link.callbacks))
        self.native.call("iss_reset", entry)
        self.printed = 0

    def write(self, address: int, data: bytes | bytearray | np.ndarray) -> None:
        """Write to DRAM, shared memory or what lies behind it, as the host does."""
        self.memory.write(address, data)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Read bytes from where `write` can write."""
        return self.memory.read(address, nbytes)

    def allow(self, address: int, nbytes: int) -> None:
        """Place something: a program may touch these bytes of DRAM, and only what was placed."""
        self.memory.allow(address, nbytes)

    def run(self, limit: int = 100_000_000) -> Outcome:
        """Run until all warps have ended, one faults, none can go on, or `limit` instructions."""
        if limit < 0:
            raise UserError(f"limit must not be negative, not {limit}")
        started = time.perf_counter()
        before = self.instructions
        left = limit
        while True:
            chunk = min(left, CHUNK)
            stop = STOPS[self.native.call("iss_run", ctypes.c_uint64(chunk))]
            left -= chunk
            self.print_new()
            if stop is not Stop.LIMIT or left == 0:
                break
        fault = self.fault() if stop is Stop.FAULT else None
        if stop in (Stop.DONE, Stop.DEADLOCK) and self.link.finish():
            stop, fault = Stop.FAULT, self.device_fault()
        return Outcome(
            stop=stop,
            exit_code=self.exit_code,
            instructions=self.instructions - before,
            fault=fault,
            seconds=time.perf_counter() - started,
        )

    def step(self, core: int, warp: int) -> Retired | None:
        """Execute exactly one instruction of a warp; return None if it cannot run."""
        self.require_warp(core, warp)
        native = NativeRetired()
        done = self.native.call("iss_step", core, warp, ctypes.byref(native))
        if done == CANNOT_RUN:
            return None
        if self.on_console is not None:
            self.print_new()
        fault = None if done == RETIRED else self.fault()
        return retired_of(native, self.core.threads, fault)

    def fault(self) -> Fault:
        """Return the fault that ended the last run."""
        native = NativeFault()
        self.native.call("iss_fault", ctypes.byref(native))
        said = self.link.take() if REASONS[native.reason] is Reason.DEVICE else ""
        return fault_of(native, said)

    def device_fault(self) -> Fault:
        """Return what a device met while no instruction was executed."""
        return Fault(Cause.DEVICE, 0, 0, 0, 0, 0, None, f"device: {self.link.take()}")

    @property
    def console(self) -> bytes:
        """All that was printed since the last reset."""
        return self.console_from(0)

    def console_from(self, start: int) -> bytes:
        """Return what was printed after the first `start` bytes."""
        text = ctypes.c_void_p()
        size = self.native.call("iss_console", ctypes.byref(text))
        return ctypes.string_at((text.value or 0) + start, size - start) if size > start else b""

    def print_new(self) -> None:
        if self.on_console is not None and (new := self.console_from(self.printed)):
            self.printed += len(new)
            self.on_console(new)

    def core_state(self, core: int) -> tuple[int, int]:
        """Return how many instructions a core has retired, and its exit code."""
        instructions, exit_code = ctypes.c_uint64(), ctypes.c_int32()
        self.native.call("iss_core", core, ctypes.byref(instructions), ctypes.byref(exit_code))
        return instructions.value, exit_code.value

    @property
    def instructions(self) -> int:
        """Instructions retired since the last reset."""
        return sum(self.core_state(core)[0] for core in range(self.config.cores))

    @property
    def exit_code(self) -> int:
        """The first of the cores' exit codes that is not 0, else 0."""
        codes = [self.core_state(core)[1] for core in range(self.config.cores)]
        return next((code for code in codes if code), 0)

    def warp(self, core: int, warp: int) -> WarpState:
        """Return a copy of what a warp holds."""
        words = self.warp_words(core, warp)
        head = head_of(words)
        waits = self.waits(core, warp, head["barrier"]) if head["waiting"] else ""
        return warp_state(words, self.core.threads, waits)

    def warp_words(self, core: int, warp: int) -> np.ndarray:
        """Return a warp's state as C++ tells it."""
        self.require_warp(core, warp)
        words = np.zeros(words_of_warp(self.core.threads), np.uint32)
        self.native.call("iss_warp", core, warp, pointer_to(words))
        return words

    def set_warp(self, core: int, warp: int, **changes: Any) -> None:
        """Change what a warp holds, for tests; what is not given stays.

        Parameters are ``pc``, ``mask``, ``active``, ``fflags``, ``frm``, ``mscratch``, and
        ``integers`` and ``floats``, (32, threads) words. A mask makes the warp active unless it
        is 0 or `active` says otherwise.
        """
        words = self.warp_words(core, warp)
        change_warp(words, self.core.threads, **changes)
        self.native.call("iss_set_warp", core, warp, pointer_to(words))

    def history(self, core: int, warp: int) -> list[tuple[int, int, int]]:
        """Return (pc, word, mask) of the last instructions a warp executed, the oldest first."""
        self.require_warp(core, warp)
        words = np.zeros((HISTORY, 3), np.uint32)
        kept = self.native.call("iss_history", core, warp, pointer_to(words))
        return [(pc, word, mask) for pc, word, mask in words[:kept].tolist()]

    def require_warp(self, core: int, warp: int) -> None:
        for name, number, count in (
            ("core", core, self.config.cores),
            ("warp", warp, self.core.warps),
        ):
            if not 0 <= number < count:
                raise UserError(f"{name} must be from 0 to {count - 1}, not {number}")

    def waits(self, core: int, warp: int, barrier: int) -> str:
        """Return in words what a warp that waits waits for."""
        words = np.zeros(4, np.uint32)
        self.native.call("iss_barrier", core, warp, pointer_to(words))
        return describe_wait(core, barrier, words.tolist(), self.config.cores)

    @property
    def statistics(self) -> Statistics:
        """What was executed since the last reset."""
        words = np.zeros(COUNT_WORDS, np.uint64)
        self.native.call("iss_counts", pointer_to(words))
        states = (self.core_state(core) for core in range(self.config.cores))
        return statistics_of(words, tuple(instructions for instructions, _ in states))
