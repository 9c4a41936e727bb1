"""Functional model of a matrix unit: registers and commands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....hw.config import MatrixUnitConfig
from ....hw.isa.memory_map import MATRIX, numbered
from ...golden.matrix.command.command_decoder import CommandModel
from ...golden.matrix.systolic.systolic_unit import (
    AccumulatorBytes,
    SystolicModel,
    d_transfers,
    transfers,
)
from ...golden.memory.dma.dma import DmaDescriptor
from .memory import DeviceMemory
from .region import Region
from .work_queue import Agenda, DeviceFault, Work

__all__ = ["SystolicDevice"]

RUNNING_MAXIMUM = 15
FAILED_DESCRIPTOR = 1 << 2  # of `error`


@dataclass(eq=False)
class Command:
    """A pending operation: name in messages and number of unfinished parts."""

    what: str
    parts: int = 0


class SystolicDevice:
    """Registers of `address_map.MATRIX`, and the operations that commands start.

    Loads overlap and end in order. Computes execute one after the other, each after the loads of
    its own operation only. A load of D is in order with computes. A store uses the results of the
    computes and loads of D before it; stores execute one after the other. Accumulator rows that
    neither has written are undefined: using them is a fault.

    Parameters
    ----------
    config : MatrixUnitConfig
    agenda : Agenda
    memory : DeviceMemory
    number : int
        Number of the unit.

    """

    def __init__(
        self, config: MatrixUnitConfig, agenda: Agenda, memory: DeviceMemory, number: int = 0
    ):
        self.name = numbered("matrix", number)
        self.config, self.matrix = config, config.matrix
        self.agenda, self.memory = agenda, memory
        self.decoder = CommandModel(config)
        self.model = SystolicModel(config)
        self.written = np.zeros(self.matrix.accumulator_rows, bool)
        self.failed = 0
        self.commands = self.computes_done = self.running = 0
        self.last: dict[str, Work] = {}  # per kind
        self.takers: list[Callable[[], None]] = []  # stores of the last compute's results

    @property
    def error(self) -> int:
        """Value of the `error` register."""
        return self.decoder.error | self.failed

    def read(self, name: str) -> int:
        """Read one register; a write-only register reads as 0."""
        values = {
            "busy": int(self.running > 0),
            "running": min(self.running, RUNNING_MAXIMUM),
            "computes_done": self.computes_done & 0xFFFF_FFFF,
            "error": self.error,
            "error_word": self.decoder.error_word,
        }
        for which, operand in enumerate(self.decoder.rs, 1):
            values |= {f"rs{which}_low": operand & 0xFFFF_FFFF, f"rs{which}_high": operand >> 32}
        return values.get(name, 0)

    def write(self, name: str, data: int):
        """Write one register; a write to a read-only register is ignored."""
        if name == "error":
            self.failed = 0
        self.decoder.write(MATRIX[name].offset, data)
        operations = self.decoder.operations[:]
        self.decoder.operations.clear()
        for operation in operations:
            self.begin(operation, data)

    def begin(self, operation: dict, word: int):
        """Queue the parts of an operation: loads, a compute, a store."""
        self.commands += 1
        self.running += 1
        command = Command(f"{self.name} command {self.commands} (0x{word:08X})")
        descriptors = transfers(self.config, operation)
        names = [name for name in "AB" if operation[f"load_{name.lower()}"]]
        loads = [
            self.queue_load(command, descriptor, name)
            for descriptor, name in zip(descriptors, names, strict=False)
        ]
        if operation.get("load_d"):
            self.queue_d(command, operation)
        if operation["compute"]:
            self.queue_compute(command, operation, loads)
        if operation["store"]:
            self.queue_store(command, operation, descriptors[-1])
        if not command.parts:
            self.queue(command, "the end", "nothing", lambda: None)

    def queue(
        self,
        command: Command,
        what: str,
        kind: str,
        act: Callable[[], None],
        regions: tuple[Sequence[Region], Sequence[Region]] = ((), ()),
        after: Sequence[Work] = (),
    ) -> Work:
        """Queue one part of a command after the previous part of the same kind."""

        def finish():
            act()
            command.parts -= 1
            self.running -= not command.parts

        before = [self.last[kind]] if kind in self.last else []
        work = Work(
            what=f"{what} of {command.what}",
            unit=self.name,
            kind=kind,
            act=finish,
            reads=regions[0],
            writes=regions[1],
            after=[*after] if kind == "load" else [*before, *after],
            beside=before if kind == "load" else [],
        )
        self.agenda.add(work)
        self.last[kind] = work
        command.parts += 1
        return work

    def queue_load(self, command: Command, descriptor: DmaDescriptor, name: str) -> Work:
        """Queue the load of operand `name`."""
        what = f"the load of {name}"
        regions = self.memory.regions(descriptor, f"{what} of {command.what}")
        return self.queue(command, what, "load", lambda: self.transfer(descriptor), regions)

    def queue_compute(self, command: Command, operation: dict, loads: Sequence[Work]):
        """Queue a compute, and mark its accumulator rows as written."""
        rows = self.accumulator_rows(operation, operation["height"])
        if operation["accumulate"]:
            self.require_written(command, rows, "adds to")
        elif self.matrix.dataflow == "output_stationary":
            rows = self.accumulator_rows(operation, operation["i_blocks"] * self.matrix.rows)
        self.written[rows] = True
        takers = self.takers = []

        def act():
            self.model.compute(operation, self.memory.shared())
            self.computes_done += 1
            for take in takers:
                take()

        reads = [self.tile(operation, name) for name in "ab"]
        if operation.get("scale_lines"):
            start = self.memory.shared_base + operation["scales_line"] * self.matrix.a_bytes
            size = 4 * operation["height"]
            reads.append(Region(start, size, 1, size))
        self.queue(command, "the compute", "compute", act, (reads, []), loads)

    def queue_d(self, command: Command, operation: dict):
        """Queue the load of D, in order with computes, and mark its rows as written."""
        self.written[self.accumulator_rows(operation, operation["height"])] = True
        descriptors = d_transfers(self.config, operation)
        what = "the load of D"
        reads = [
            region
            for descriptor in descriptors
            for region in self.memory.regions(descriptor, f"{what} of {command.what}")[0]
        ]
        takers = self.takers = []

        def act():
            for descriptor in descriptors:
                if self.memory.run(
                    descriptor, accumulator=AccumulatorBytes(self.model.accumulator)
                ):
                    self.failed = FAILED_DESCRIPTOR
            for take in takers:
                take()

        self.queue(command, what, "compute", act, (reads, []))

    def queue_store(self, command: Command, operation: dict, descriptor: DmaDescriptor):
        """Queue a store of the results of the computes so far, not of later ones."""
        self.require_written(
            command, self.accumulator_rows(operation, operation["height"]), "stores"
        )
        beats: list[bytes] = []
        compute = self.last.get("compute")
        if compute is None or compute.done:
            beats += self.model.results(operation)
        else:
            self.takers.append(lambda: beats.extend(self.model.results(operation)))
        what = "the store"
        regions = self.memory.regions(descriptor, f"{what} of {command.what}")
        after = [compute] if compute else []
        self.queue(command, what, "store", lambda: self.transfer(descriptor, beats), regions, after)

    def transfer(self, descriptor: DmaDescriptor, beats: Sequence[bytes] = ()):
        """Execute a DMA descriptor; a rejected one sets its bit of `error`."""
        if self.memory.run(descriptor, beats):
            self.failed = FAILED_DESCRIPTOR

    def accumulator_rows(self, operation: dict, height: int) -> np.ndarray:
        """Return the accumulator rows of the first `height` rows of an operation."""
        blocks = np.arange(operation["j_blocks"]) * operation["i_blocks"] * self.matrix.rows
        return operation["base"] + (blocks[:, None] + np.arange(height)).ravel()

    def require_written(self, command: Command, rows: np.ndarray, verb: str):
        """Raise `DeviceFault` if a command uses undefined rows of the accumulator."""
        if not self.written[rows].all():
            row = int(rows[~self.written[rows]][0])
            raise DeviceFault(
                f"{command.what} {verb} row {row} of the accumulator, which no compute has written"
            )

    def tile(self, operation: dict, name: str) -> Region:
        """Return the region of shared memory with the tile of A or of B."""
        matrix = self.matrix
        sides = {
            "a": ("height", "depth", "i_blocks", "k_blocks", matrix.a_bytes, matrix.rows),
            "b": ("depth", "width", "k_blocks", "j_blocks", matrix.b_bytes, matrix.columns),
        }
        lines, length, turned_pitch, pitch, access, across = sides[name]
        if operation[f"transpose_{name}"]:
            lines, length, pitch = length, lines, turned_pitch
        blocks, last = divmod(operation[length] - 1, across)
        return Region(
            self.memory.shared_base + operation[f"{name}_line"] * access,
            operation[pitch] * access,
            operation[lines],
            blocks * access + (last + 1) * matrix.operand_bytes,
        )

    def describe(self) -> str:
        """Return the progress of the unit as text."""
        unit = self.name.replace("matrix", "matrix unit ").rstrip()
        return f"{unit}: {self.running} commands pending, {self.computes_done} computes done"
