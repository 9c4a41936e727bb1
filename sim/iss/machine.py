"""Instruction-set model of a cluster: bit-exact execution of programs without cycles."""

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...hw.isa.memory_map import ENTRY, SHARED_BASE
from ..harness.launch import Launch, launch_words, require_launches
from ..harness.stop_reason import StopReason
from .device_link import DeviceLink
from .devices import Devices
from .faults import REASONS, Reason, fault_of
from .host_memory import HostMemory
from .memory_check import MemoryCheck
from .native_machine import NativeMachine
from .native_types import ISS, native_config
from .outcome import STOPS, Cause, Fault, Outcome, Retired, Statistics, WarpState
from .races import Races
from .retirement import retired_of
from .statistics import COUNT_WORDS, statistics_of
from .warps import change_warp, describe_phase, describe_wait, head_of, warp_state, words_of_warp
from .work_watch import WorkWatch

__all__ = ["SCHEDULES", "Iss"]

SCHEDULES = ("round_robin", "random")
#: Instructions between two checks for an interrupt and for console output.
CHUNK = 1_000_000


class Iss:
    """Model of a cluster's cores that executes one instruction of one warp at a time.

    Parameters
    ----------
    config : MachineConfig
        Config with cores.
    schedule : str
        ``round_robin`` selects runnable warps round-robin, one instruction each; ``random`` selects
        one at random, which exposes races.
    seed : int
        Seed of the random schedule.
    alone : bool
        Whether the cores are simulated without DMA and matrix units, as on the RTL with a simple
        memory.
    checks_races : bool
        Whether two conflicting accesses without an order between them are a fault of `run`.
    checks_memory : bool
        Whether `run` checks for accesses between objects and for reads of unwritten bytes; see
        `memory_check`.

    Attributes
    ----------
    console : bytes
        Console output since the last reset.
    on_console : callable or None
        Callback for console output while a program runs.
    statistics : Statistics
        Instruction counts since the last reset.
    memory : HostMemory
        Memory of `read` and `write`, as a separate object.
    memory_check : MemoryCheck or None
        States of bytes, and findings of `run`.

    """

    def __init__(
        self,
        config: MachineConfig,
        *,
        schedule: str = "round_robin",
        seed: int = 1,
        alone: bool = False,
        checks_races: bool = False,
        checks_memory: bool = False,
    ):
        if config.core is None:
            raise UserError("the instruction-set model needs cores; this cluster has none")
        if schedule not in SCHEDULES:
            raise UserError(f"schedule must be one of {', '.join(SCHEDULES)}, not {schedule!r}")
        self.config = config
        self.core = config.core
        self.around = replace(config, dma=None, units=()) if alone else config
        self.schedule = schedule
        self.seed = seed
        self.on_console: Callable[[bytes], None] | None = None
        self.native = NativeMachine(
            native_config(
                config,
                config.core,
                is_alone=alone,
                is_random=schedule == "random",
                seed=seed,
                checks_races=checks_races,
                checks_memory=checks_memory,
            )
        )
        self.watch = WorkWatch(self.native)
        self.races = Races(self.native, config, self.watch) if checks_races else None
        self.memory_check = MemoryCheck(self.native, self.watch) if checks_memory else None
        self.memory = HostMemory(self.native)
        self.reset()

    def reset(self, entry: int = ENTRY, launches: Sequence[Launch] = ()) -> None:
        """Reset every warp and start warp 0 of each core; memory is kept.

        Parameters
        ----------
        entry : int
            First instruction, without `launches`.
        launches : sequence of Launch
            Programs of the clusters, in order; clusters without one do not start.

        """
        programs = launches or [Launch(entry=entry)] * self.config.clusters
        require_launches(programs, self.config.clusters)
        self.watch.reset()
        self.links = [DeviceLink(self.make_devices(n)) for n in range(self.config.clusters)]
        for cluster, link in enumerate(self.links):
            self.native.call("iss_devices", cluster, link.callbacks)
        self.native.call("iss_reset", launch_words(programs, self.config.clusters))
        self.printed = 0

    def make_devices(self, cluster: int) -> Devices:
        """Return new units of a cluster."""
        watches = self.races or self.memory_check
        return Devices(
            self.around,
            self.memory,
            shared_base=self.native.library.iss_placed(cluster, SHARED_BASE),
            schedule=self.schedule,
            seed=self.seed,
            allowed=self.memory.is_allowed,
            watcher=self.watch.of(cluster) if watches else None,
        )

    @property
    def devices(self) -> Devices:
        """The DMA and the matrix units of the first cluster, created anew by every reset."""
        return self.links[0].devices

    def write(self, address: int, data: bytes | bytearray | np.ndarray) -> None:
        """Write to DRAM, shared memory or the print buffers behind it, as the host."""
        self.memory.write(address, data)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Read bytes of the memory that `write` accesses."""
        return self.memory.read(address, nbytes)

    def allow(self, address: int, nbytes: int) -> None:
        """Place a region of DRAM: programs may access placed regions only."""
        self.memory.allow(address, nbytes)

    def add_flags(self, address: int, nbytes: int) -> None:
        """Declare flags: their stores and loads make an order, and are no races."""
        if nbytes:
            self.native.call("iss_flags", address, address + nbytes - 1)

    def allow_clearing(self, code: range) -> None:
        """Let checks pass over the stores of code that clears all variables at the start."""
        self.native.call("iss_clearing_code", code.start, code.stop - 1)

    def limit_stacks(self, top: int, nbytes: int) -> None:
        """Report a stack that grows into the next one; see `HostMemory.limit_stacks`."""
        self.memory.limit_stacks(top, nbytes)

    def run(self, limit: int = 100_000_000) -> Outcome:
        """Run until all warps have ended, a fault, a deadlock, or `limit` instructions."""
        if limit < 0:
            raise UserError(f"limit must not be negative, not {limit}")
        started = time.perf_counter()
        before = self.instructions
        left = limit
        while True:
            chunk = min(left, CHUNK)
            stop = STOPS[self.native.call("iss_run", chunk)]
            left -= chunk
            self.print_new()
            if stop is not StopReason.LIMIT or left == 0:
                break
        fault = self.fault() if stop is StopReason.FAULT else None
        if stop in (StopReason.DONE, StopReason.DEADLOCK):
            for link in self.links:
                if link.finish():
                    stop, fault = StopReason.FAULT, self.device_fault(link)
                    break
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
        native = ISS.structure("Retired")()
        done = ISS.enumeration("Stepped")(self.native.call("iss_step", core, warp, native)).name
        if done == "CannotRun":
            return None
        if self.on_console is not None:
            self.print_new()
        fault = None if done == "Retired" else self.fault()
        return retired_of(native, self.core.threads, fault)

    def fault(self) -> Fault:
        """Return the fault that ended the last run."""
        native = self.native.call("iss_fault")
        reason = REASONS[native.reason]
        if reason is Reason.ACCESS_RACE and self.races is not None:
            return fault_of(native, *self.races.latest())
        cluster = native.core // self.config.cores
        return fault_of(native, self.links[cluster].take() if reason is Reason.DEVICE else "")

    def sender(self, word: int) -> tuple[int, int, int] | None:
        """Return core, warp and pc of the first instruction that sent a word to a matrix unit."""
        place = np.zeros(3, np.uint32)
        if not self.native.call("iss_sender", word, place):
            return None
        core, warp, pc = place.tolist()
        return core, warp, pc

    def device_fault(self, link: DeviceLink) -> Fault:
        """Return the fault of a unit that occurred outside any instruction."""
        return Fault(Cause.DEVICE, 0, 0, 0, 0, 0, None, f"device: {link.take()}")

    @property
    def console(self) -> bytes:
        """Console output since the last reset."""
        return self.console_from(0)

    def console_from(self, start: int) -> bytes:
        """Return the console output after the first `start` bytes."""
        text = self.native.call("iss_console")
        start = min(start, text.size)
        return ctypes.string_at((text.data or 0) + start, text.size - start)

    def print_new(self) -> None:
        if self.on_console is not None and (new := self.console_from(self.printed)):
            self.printed += len(new)
            self.on_console(new)

    def core_state(self, core: int) -> tuple[int, int]:
        """Return the retired instructions of a core and its exit code."""
        instructions, exit_code = ctypes.c_uint64(), ctypes.c_int32()
        self.native.call("iss_core", core, instructions, exit_code)
        return instructions.value, exit_code.value

    @property
    def instructions(self) -> int:
        """Instructions retired since the last reset."""
        return sum(self.core_state(core)[0] for core in range(self.config.all_cores))

    @property
    def exit_code(self) -> int:
        """First exit code of a core that is not 0, else 0."""
        return next(filter(None, self.exit_codes), 0)

    @property
    def exit_codes(self) -> list[int]:
        """Exit code of each core."""
        return [self.core_state(core)[1] for core in range(self.config.all_cores)]

    def warp(self, core: int, warp: int) -> WarpState:
        """Return a copy of a warp's state."""
        words = self.warp_words(core, warp)
        head = head_of(words)
        waits = self.waits(core, warp, head.barrier) if head.waiting else ""
        if head.sleeping:
            waits = self.devices.describe_wait(head.wait_offset, head.wait_n)
        if head.awaiting:
            words_of_phase = np.zeros(6, np.uint32)
            self.native.call("iss_awaited", core, warp, words_of_phase)
            waits = describe_phase(words_of_phase.tolist())
        return warp_state(words, self.core.threads, waits)

    def warp_words(self, core: int, warp: int) -> np.ndarray:
        """Return a warp's state as the array of words from C++."""
        self.require_warp(core, warp)
        words = np.zeros(words_of_warp(self.core.threads), np.uint32)
        self.native.call("iss_warp", core, warp, words)
        return words

    def set_warp(self, core: int, warp: int, **changes: Any) -> None:
        """Change the given fields of a warp's state, for tests.

        Parameters are ``pc``, ``mask``, ``active``, ``fflags``, ``frm``, ``mscratch``, ``mepc``,
        and ``integers`` and ``floats``, (32, threads) words. A mask makes the warp active unless
        it is 0 or `active` says otherwise.
        """
        words = self.warp_words(core, warp)
        change_warp(words, self.core.threads, **changes)
        self.native.call("iss_set_warp", core, warp, words)

    def history(self, core: int, warp: int) -> list[tuple[int, int, int]]:
        """Return (pc, word, mask) of a warp's last instructions, oldest first."""
        self.require_warp(core, warp)
        words = np.zeros((ISS.constant("kHistory"), 3), np.uint32)
        count = self.native.call("iss_history", core, warp, words)
        return [(pc, word, mask) for pc, word, mask in words[:count].tolist()]

    def require_warp(self, core: int, warp: int) -> None:
        for name, number, count in (
            ("core", core, self.config.all_cores),
            ("warp", warp, self.core.warps),
        ):
            if not 0 <= number < count:
                raise UserError(f"{name} must be from 0 to {count - 1}, not {number}")

    def waits(self, core: int, warp: int, barrier: int) -> str:
        """Return the barrier state of a waiting warp as text."""
        words = np.zeros(4, np.uint32)
        self.native.call("iss_barrier", core, warp, words)
        return describe_wait(core, barrier, words.tolist(), self.config.cores)

    @property
    def statistics(self) -> Statistics:
        """Instruction counts since the last reset."""
        words = np.zeros(COUNT_WORDS, np.uint64)
        self.native.call("iss_counts", words)
        states = (self.core_state(core) for core in range(self.config.all_cores))
        return statistics_of(words, tuple(instructions for instructions, _ in states))
