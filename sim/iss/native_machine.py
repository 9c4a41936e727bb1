"""Handle of a machine in the C++ library."""

import ctypes
from typing import Any

import numpy as np

from .library import load_library
from .native_types import NativeConfig

__all__ = ["NativeMachine", "pointer_to"]


def pointer_to(values: np.ndarray) -> ctypes.c_void_p:
    """Return an array's address for C++."""
    return ctypes.c_void_p(values.ctypes.data)


class NativeMachine:
    """Owner of a machine in C++, which it destroys with itself.

    Parameters
    ----------
    config : NativeConfig

    """

    def __init__(self, config: NativeConfig):
        self.library = load_library()
        self.handle = ctypes.c_void_p(self.library.iss_create(ctypes.byref(config)))

    def __del__(self):
        if hasattr(self, "handle"):
            self.library.iss_destroy(self.handle)

    def save(self) -> bytes:
        """Return the machine's state without that of the units."""
        words = ctypes.c_void_p()
        size = self.call("iss_save", ctypes.byref(words))
        return ctypes.string_at(words.value or 0, size)

    def restore(self, state: bytes) -> bool:
        """Restore a saved state; return whether it fits this machine."""
        return bool(self.call("iss_restore", state, ctypes.c_uint64(len(state))))

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of api.cpp; plain integers become 32-bit arguments."""
        converted = [
            ctypes.c_uint32(value) if isinstance(value, int) else value for value in arguments
        ]
        return getattr(self.library, function)(self.handle, *converted)
