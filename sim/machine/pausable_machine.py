"""Machine with a host whose command list writes or resumes a checkpoint."""

from typing import Any

import numpy as np

from .command_machine import Machine
from .execution import Execution
from .saving import Saving, data_digest

__all__ = ["PausableMachine", "UnfinishedError"]


class UnfinishedError(Exception):
    """A run that ended without a result: its checkpoint was written at its limit."""


class PausableMachine:
    """Wrapper of a `Machine` for kernels, with checkpoints.

    Parameters
    ----------
    machine : Machine
        Machine after reset.
    saving : Saving
    arguments : dict
        Arguments of the run, stored in the checkpoint.

    """

    def __init__(self, machine: Machine, saving: Saving, arguments: dict[str, Any]):
        self.machine, self.saving, self.arguments = machine, saving, arguments
        self.read = machine.read
        self.written: list[bytes] = []

    def write(self, address: int, array: np.ndarray | bytes) -> None:
        """Write data to DRAM, and keep it for the digest of the run's inputs."""
        data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
        self.written += [address.to_bytes(8, "little"), data]
        self.machine.write(address, data)

    def execute(self, commands: np.ndarray, max_cycles: int = 1 << 40) -> Execution:
        """Run a command list as `Machine.execute` does.

        Raises `UnfinishedError` if the run ends with a checkpoint at its limit.
        """
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
