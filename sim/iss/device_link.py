"""Devices as the instruction-set model's C++ calls them: what they raise is kept for later."""

from collections.abc import Callable
from typing import Any

from .devices import DeviceFault, Devices
from .native_types import Callbacks

__all__ = ["DeviceLink"]


class DeviceLink:
    """Callbacks to a cluster's devices.

    An exception cannot pass through C++: it ends the run, and `take` returns or raises it.

    Parameters
    ----------
    devices : Devices

    """

    def __init__(self, devices: Devices):
        self.devices = devices
        self.raised: BaseException | None = None
        self.callbacks = Callbacks(
            Callbacks.READ(self.read), Callbacks.WRITE(self.write), Callbacks.CISC(self.cisc)
        )

    def read(self, offset: int, value: Any) -> int:
        """Read a register into `value`; return 1 if that failed."""

        def access():
            value[0] = self.devices.read(offset) & 0xFFFF_FFFF

        return self.guard(access)

    def write(self, offset: int, data: int) -> int:
        """Write a register; return 1 if that failed."""
        return self.guard(lambda: self.devices.write(offset, data))

    def cisc(self, word: int) -> int:
        """Issue a command word; return 1 if that failed."""
        return self.guard(lambda: self.devices.cisc(word))

    def finish(self) -> int:
        """Do all that is queued; return 1 if that failed."""
        return self.guard(self.devices.finish)

    def guard(self, action: Callable[[], None]) -> int:
        try:
            action()
        except BaseException as error:
            self.raised = error
            return 1
        return 0

    def take(self) -> str:
        """Return what the device said that failed; raise what was no fault of the program's."""
        error, self.raised = self.raised, None
        if isinstance(error, DeviceFault):
            return str(error)
        assert error is not None
        raise error
