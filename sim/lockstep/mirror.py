"""Mirror: the model's memory and registers follow those of a cluster in lockstep."""

import ctypes

from ...hw.config import ClusterConfig
from ...hw.isa.memory_map import CONSOLE_BASE, CONSOLE_LANES, DMA_BASE, SHARED_BASE, WINDOW_BYTES
from ..iss.machine import Iss

__all__ = ["mirror_setup"]


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


def mirror_setup(config: ClusterConfig, iss: Iss) -> NativeMirror:
    """Return the description of the model's memory and of the address map for C++."""
    library = iss.native.library
    read, write, devices = (
        ctypes.cast(function, ctypes.c_void_p)
        for function in (library.iss_read, library.iss_write, library.iss_devices)
    )
    window = SHARED_BASE + config.shared.size
    return NativeMirror(
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
