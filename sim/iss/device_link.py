"""Devices as the instruction-set model's C++ calls them: what they raise is kept for later."""

from collections.abc import Callable
from typing import Any

from .devices import DeviceFault, Devices
from .native_types import Callbacks

__all__ = ["DeviceLink"]


class Guard:
    """Keeps what an action raised: an exception cannot pass through C++."""

    def __init__(self):
        self.raised: BaseException | None = None

    def run(self, action: Callable[..., None], *arguments: Any) -> int:
        """Return 1, or 0 if the action raised, which ends the machine's run.

        0 is also what C++ gets where an interrupt comes just before this can keep it.
        """
        try:
            action(*arguments)
        except BaseException as error:
            self.raised = error
            return 0
        return 1


class DeviceLink:
    """Callbacks to a cluster's devices.

    Parameters
    ----------
    devices : Devices

    """

    def __init__(self, devices: Devices):
        # The callbacks know the guard but not this object, which thus is no part of a cycle.
        guard = Guard()
        self.devices = devices
        self.guard = guard

        def read(offset: int, value: Any) -> None:
            value[0] = devices.read(offset) & 0xFFFF_FFFF

        self.callbacks = Callbacks(
            Callbacks.READ(lambda offset, value: guard.run(read, offset, value)),
            Callbacks.WRITE(lambda offset, data: guard.run(devices.write, offset, data)),
            Callbacks.CISC(lambda word: guard.run(devices.cisc, word)),
        )

    def finish(self) -> bool:
        """Do all that is queued; return whether that failed."""
        return not self.guard.run(self.devices.finish)

    def take(self) -> str:
        """Return what the device said that failed; raise what was no fault of the program's."""
        error, self.guard.raised = self.guard.raised, None
        if isinstance(error, DeviceFault):
            return str(error)
        raise KeyboardInterrupt if error is None else error
