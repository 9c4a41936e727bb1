"""Handle of a machine in the C++ library."""

import ctypes
from typing import Any

from ...base.native_interface import NativeStructure
from .library import load_library

__all__ = ["NativeMachine"]


class NativeMachine:
    """Owner of a machine in C++, which it destroys with itself.

    Parameters
    ----------
    config : NativeStructure
        `Config` of the C++.

    """

    def __init__(self, config: NativeStructure):
        self.library = load_library()
        self.handle = self.library.iss_create(config)

    def __del__(self):
        if hasattr(self, "handle"):
            self.library.iss_destroy(self.handle)

    def save(self) -> bytes:
        """Return the machine's state without that of the units."""
        saved = self.call("iss_save")
        return ctypes.string_at(saved.data, saved.size)

    def restore(self, state: bytes) -> bool:
        """Restore a saved state; return whether it fits this machine."""
        return bool(self.call("iss_restore", state, len(state)))

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of api.cpp."""
        return getattr(self.library, function)(self.handle, *arguments)
