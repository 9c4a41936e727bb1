"""A machine of commands whose run is saved on its way, or goes on from where one was."""

from typing import Any

import numpy as np

from .command_machine import Machine
from .execution import Execution
from .saving import Saving, data_digest

__all__ = ["PausableMachine", "UnfinishedError"]


class UnfinishedError(Exception):
    """A run was saved at its limit, and ends there without a result."""


class PausableMachine:
    """What a kernel needs of a `Machine`, with a run that is saved or restored.

    Parameters
    ----------
    machine : Machine
        Just reset.
    saving : Saving
    arguments : dict
        What is run, kept with what is saved.

    """

    def __init__(self, machine: Machine, saving: Saving, arguments: dict[str, Any]):
        self.machine, self.saving, self.arguments = machine, saving, arguments
        self.read = machine.read
        self.written: list[bytes] = []

    def write(self, address: int, array: np.ndarray | bytes) -> None:
        """Put data into DRAM, and remember it as given to the run."""
        data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
        self.written += [address.to_bytes(8, "little"), data]
        self.machine.write(address, data)

    def execute(self, commands: np.ndarray, max_cycles: int = 1 << 40) -> Execution:
        """Run a command list as `Machine.execute` does; raise `UnfinishedError` if it is saved."""
        self.machine.begin(commands)
        given = {
            "commands": data_digest([np.asarray(commands).tobytes()]),
            "data": data_digest(self.written),
        }
        arguments = self.arguments | given
        self.saving.resume(self.machine, arguments)
        for stop in self.saving.stops(max_cycles):
            if self.machine.advance(stop):
                break
            self.saving.reach(self.machine, arguments, stop)
        if self.machine.is_paused and self.saving.ends_saved:
            raise UnfinishedError
        return self.machine.execution()
