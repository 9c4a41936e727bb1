"""Host access to the memory of the instruction-set model."""

import numpy as np

from ...base.errors import UserError
from .native_machine import NativeMachine

__all__ = ["HostMemory"]


class HostMemory:
    """Host view of DRAM, shared memory and the print buffers behind it, by address.

    Parameters
    ----------
    native : NativeMachine

    """

    def __init__(self, native: NativeMachine):
        self.native = native

    def write(self, address: int, data: bytes | bytearray | np.ndarray) -> None:
        """Write bytes, or the bytes of an array."""
        values = np.frombuffer(data, np.uint8) if isinstance(data, bytes | bytearray) else data
        self.access("iss_write", address, np.ascontiguousarray(values).reshape(-1).view(np.uint8))

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Read bytes of the memory that `write` accesses."""
        values = np.zeros(nbytes, np.uint8)
        self.access("iss_read", address, values)
        return values

    def access(self, function: str, address: int, values: np.ndarray) -> None:
        is_inside = 0 <= address < 1 << 32
        if not is_inside or not self.native.call(function, address, values, values.size):
            raise UserError(
                f"address must be in DRAM or shared memory for {values.size} bytes, "
                f"not {address:#x}"
            )

    def allow(self, address: int, nbytes: int) -> None:
        """Allow accesses of programs to these bytes of DRAM; without any call, all are allowed."""
        if nbytes < 1 or address < 0 or address + nbytes > 1 << 32:
            raise UserError(
                f"a region must be 1 byte or more of 32-bit addresses, not {nbytes} at {address:#x}"
            )
        self.native.call("iss_allow", address, address + nbytes - 1)

    def limit_stacks(self, top: int, nbytes: int) -> None:
        """Report a stack that grows into the next one; all have `nbytes`, from `top` down.

        Loads and stores relative to the stack pointer are checked.
        """
        self.native.call("iss_limit_stacks", top, nbytes)

    def is_allowed(self, address: int, nbytes: int) -> bool:
        """Return whether programs may access these bytes of DRAM."""
        return bool(self.native.call("iss_is_allowed", address, nbytes))
