"""Lockstep of a cluster's cores with the instruction-set model, including memory of the units."""

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np

from ...hw.config import ClusterConfig
from ...hw.core.control.faults import FaultCause
from ...hw.isa.memory_map import CONSOLE_BASE, CONSOLE_LANES, DMA_BASE, SHARED_BASE, WINDOW_BYTES
from ..harness.cluster_harness import ClusterHarness
from ..harness.stop_reason import CoreStopReason
from ..iss.faults import Reason
from ..iss.machine import Iss
from .core_lockstep import Causes, CoreLockstep
from .native_types import Difference

__all__ = ["ClusterLockstep"]

NOBODY = 0xFFFF_FFFF  #: `Mirror::kNobody`


class NativeMirror(ctypes.Structure):
    """`MirrorSetup` of sim/native/memory/mirror.hpp."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("machine", "read", "write", "devices")),
        *(
            (name, ctypes.c_uint32)
            for name in (
                *("shared_base", "device_first", "device_last"),
                *("console_first", "console_last"),
            )
        ),
    )


class ClusterLockstep(CoreLockstep):
    """Lockstep comparison of a cluster's cores with the instruction-set model.

    It compares everything that `CoreLockstep` does, plus console output and matrix commands of
    each core; stores to unit registers count as ordinary stores. The model's units are inactive:
    DMA writes to DRAM and shared memory are copied to the model's memory, and values loaded from
    unit registers are copied to the model. A load that overlaps a write of another core or the DMA
    may return the bytes before or after that write. A load that begins after the write has
    completed must return the new bytes, so programs fence before they load data that others wrote
    to DRAM. At the end, the placed regions of DRAM must be equal to the model's.

    Concurrent writes of different values to the same bytes, by several cores or a core and the
    DMA, may leave a different value in the machine than in the model.

    Parameters
    ----------
    harness : ClusterHarness
        Harness of an observed cluster before the start of a run.
    config : ClusterConfig
    iss : Iss
        Model of the same config, with the same memory, at the start of the program.
    placed : sequence of (int, int)
        Addresses and sizes of the regions compared at the end.

    """

    def __init__(
        self,
        harness: ClusterHarness,
        config: ClusterConfig,
        iss: Iss,
        placed: Sequence[tuple[int, int]] = (),
    ):
        self.harness, self.placed = harness, placed
        library = iss.native.library
        read, write, devices = (
            ctypes.cast(function, ctypes.c_void_p)
            for function in (library.iss_read, library.iss_write, library.iss_devices)
        )
        window = SHARED_BASE + config.shared.size
        mirror = NativeMirror(
            machine=iss.native.handle,
            read=read,
            write=write,
            devices=devices,
            shared_base=SHARED_BASE,
            device_first=window + DMA_BASE,
            device_last=window + WINDOW_BYTES - 1,
            console_first=CONSOLE_BASE,
            console_last=CONSOLE_BASE + CONSOLE_LANES - 1,
        )
        harness.library.harness_mirror(harness.handle, ctypes.byref(mirror))
        super().__init__(harness, config, iss)

    @property
    def causes(self) -> Causes:
        """Accepted causes per fault; unplaced DRAM is 0, which is an illegal instruction."""
        return (*super().causes, (FaultCause.ILLEGAL, (Reason.NOT_PLACED,)))

    def finish(
        self,
        stop: CoreStopReason,
        *,
        exit_codes: list[int] | None = None,
        console: bytes | None = None,
    ) -> str:
        """Return the first difference as text, as `CoreLockstep` does; then compare DRAM.

        `console` is not compared: the order of several cores' bytes differs from the model's.
        """
        found = super().finish(stop, exit_codes=exit_codes)
        if found or stop is not CoreStopReason.DONE:
            return found
        return next((text for region in self.placed if (text := self.memory_text(*region))), "")

    def detail(self, difference: Difference) -> Iterator[str]:
        """Yield the expected and actual values, and the write that a stale load missed."""
        yield from super().detail(difference)
        if difference.is_stale:
            writer = "the DMA" if difference.writer == NOBODY else f"core {difference.writer}"
            yield (
                f"  the core loaded the bytes from before the write of {writer} that completed in "
                f"cycle {difference.written}; call vx_fence before the load"
            )

    def memory_text(self, address: int, nbytes: int) -> str:
        """Return the difference of a region of DRAM from the model's as text, "" if equal."""
        mine, expected = self.harness.read(address, nbytes), self.iss.read(address, nbytes)
        wrong = np.flatnonzero(mine != expected)
        if not len(wrong):
            return ""
        first = int(wrong[0])
        return (
            f"after the run, {len(wrong)} bytes of DRAM differ from the model, the first at "
            f"{address + first:#010x}: {mine[first]:#04x}, expected {expected[first]:#04x}"
        )
