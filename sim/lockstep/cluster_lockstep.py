"""The cores of a cluster beside the instruction-set model, with units that write to its memory."""

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np

from ...hw.config import ClusterConfig
from ...hw.core.control.faults import FaultCause
from ...hw.isa.memory_map import CONSOLE_BASE, CONSOLE_LANES, DMA_BASE, SHARED_BASE, WINDOW_BYTES
from ..harness.cluster_harness import ClusterHarness
from ..harness.stop_reason import CoreStop
from ..iss.faults import Reason
from ..iss.machine import Iss
from .core_lockstep import Causes, CoreLockstep
from .native_types import Difference

__all__ = ["ClusterLockstep"]

NOBODY = 0xFFFF_FFFF  #: `Mirror::kNobody`


class NativeMirror(ctypes.Structure):
    """`MirrorSetup` of native/mirror.hpp."""

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
    """The model executes what the cores of a cluster do, and both are compared.

    Compared is what `CoreLockstep` compares, and what cores print and send to matrix units, core
    by core; stores to registers of units as any other stores. The model's units do nothing: what
    the DMA writes to DRAM and shared memory is written to the model's memory as well, and what
    cores load from registers of units is taken over. A load under way while another core or the
    DMA writes the same bytes may find them as they were before or after that; one that begins when
    the write is over must find what was written, so programs fence before they load what others
    wrote to DRAM. At the end what was placed in DRAM must be the same.

    Cores, or a core and the DMA, that write different values to the same bytes at the same time
    may leave another one there than the model does.

    Parameters
    ----------
    harness : ClusterHarness
        Of an observed cluster, about to begin.
    config : ClusterConfig
    iss : Iss
        Of the same config, with the same memory, at the program's beginning.
    placed : sequence of (int, int)
        Addresses and sizes of what is compared at the end.

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
        """Where no program is, DRAM is 0, which is no instruction."""
        return (*super().causes, (FaultCause.ILLEGAL, (Reason.NOT_PLACED,)))

    def finish(
        self, stop: CoreStop, *, exit_codes: list[int] | None = None, console: bytes | None = None
    ) -> str:
        """Return the first difference in words, as `CoreLockstep` does; bytes are compared anyway.

        Of several cores' bytes the order is not the model's.
        """
        found = super().finish(stop, exit_codes=exit_codes)
        if found or stop is not CoreStop.DONE:
            return found
        return next((text for region in self.placed if (text := self.memory_text(*region))), "")

    def detail(self, difference: Difference) -> Iterator[str]:
        """Yield what was expected and what came, and of which write a load did not know."""
        yield from super().detail(difference)
        if difference.is_stale:
            writer = "the DMA" if difference.writer == NOBODY else f"core {difference.writer}"
            yield (
                f"  the core found what was there before the write of {writer} that was done in "
                f"cycle {difference.written}; vx_fence makes it visible"
            )

    def memory_text(self, address: int, nbytes: int) -> str:
        """Return how a piece of DRAM differs from the model's."""
        mine, expected = self.harness.read(address, nbytes), self.iss.read(address, nbytes)
        wrong = np.flatnonzero(mine != expected)
        if not len(wrong):
            return ""
        first = int(wrong[0])
        return (
            f"all cores are idle, and {len(wrong)} bytes of DRAM differ from the model's, the "
            f"first at {address + first:#010x}: {mine[first]:#04x} in place of "
            f"{expected[first]:#04x}"
        )
