"""Callbacks from the instruction-set model's C++ to the unit models, with deferred exceptions."""

from collections.abc import Callable
from typing import Any

from .devices import DeviceFault, Devices
from .native_types import ISS

__all__ = ["DeviceLink"]


class Guard:
    """Holder of an action's exception, which cannot propagate through C++."""

    def __init__(self):
        self.raised: BaseException | None = None

    def run(self, action: Callable[..., None], *arguments: Any) -> int:
        """Run `action`; return 1, or 0 if it raised, which ends the machine's run.

        C++ also gets 0 if an interrupt arrives just before the exception is stored.
        """
        try:
            action(*arguments)
        except BaseException as error:
            self.raised = error
            return 0
        return 1


class DeviceLink:
    """Callbacks to a cluster's units.

    Parameters
    ----------
    devices : Devices

    """

    def __init__(self, devices: Devices):
        # The callbacks refer to the guard and not to this object, which avoids a reference cycle.
        guard = Guard()
        self.devices = devices
        self.guard = guard

        def read(offset: int, value: Any) -> None:
            value[0] = devices.read(offset) & 0xFFFF_FFFF

        def wait(offset: int, n: int, sleep: Any) -> None:
            sleep[0] = devices.wait(offset, n)

        self.callbacks = ISS.structure("Devices")(
            read=lambda offset, value: guard.run(read, offset, value),
            write=lambda offset, data: guard.run(devices.write, offset, data),
            cisc=lambda word: guard.run(devices.cisc, word),
            wait=lambda offset, n, sleep: guard.run(wait, offset, n, sleep),
        )

    def finish(self) -> bool:
        """Execute all queued work; return whether that failed."""
        return not self.guard.run(self.devices.finish)

    def take(self) -> str:
        """Return the message of a `DeviceFault`; re-raise any other exception."""
        error, self.guard.raised = self.guard.raised, None
        if isinstance(error, DeviceFault):
            return str(error)
        raise KeyboardInterrupt if error is None else error
