"""Program executors: common interface of the instruction-set model and of the RTL."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from ...hw.config import ClusterConfig
from ...kernels.program import Program
from ..iss.machine import Iss
from ..machine.memory_layout import MemoryLayout, Region
from .iss_executor import IssExecutor
from .loading import Progress, memory_layout_of
from .options import MODEL, SimtOptions
from .rtl_executor import RtlExecutor
from .workload import Console, Executor

__all__ = ["ProgramExecutor", "prepare"]


class ProgramExecutor(Executor, Protocol):
    """A machine with a program in its memory."""

    @property
    def memory_layout(self) -> MemoryLayout:
        """Memory regions that the program may access."""
        ...

    @property
    def exit_code(self) -> int:
        """Exit code of the program, valid after its end."""
        ...

    @property
    def device_errors(self) -> str:
        """Errors that the units report about the program, as text; "" without an error."""
        ...

    def write(self, address: int, data: bytes) -> None: ...
    def read(self, address: int, nbytes: int) -> np.ndarray: ...


@contextmanager
def prepare(
    config: ClusterConfig,
    program: Program,
    buffers: Iterable[Region],
    options: SimtOptions,
    console: Console | None,
    progress: Progress | None,
) -> Iterator[ProgramExecutor]:
    """Yield an executor with the program loaded; only the program and its data are allowed."""
    memory_layout = memory_layout_of(config, program, buffers, options)
    if options.engine == MODEL:
        iss = Iss(config, schedule=options.schedule, seed=options.seed)
        executor = IssExecutor(iss, program, memory_layout, options)
        machine = iss
    else:
        executor = RtlExecutor.build(config, program, memory_layout, options, progress)
        machine = executor.machine
    machine.on_console = console
    for region in memory_layout.dram:
        machine.allow(region.address, region.nbytes)
    for address, data in program.segments:
        machine.write(address, data)
    if isinstance(machine, Iss):
        machine.reset(program.entry)
    try:
        yield executor
    finally:
        executor.close()
