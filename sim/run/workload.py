"""Run of a workload on a machine: one course of events for kernels, programs and products."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import numpy as np

from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...hw.config.rtl_support import require_rtl
from ..engine.versions import versions
from ..harness.dram import DramConfig
from ..report.result import (
    FUNCTIONAL,
    complete,
    memory_section,
    new_result,
    record_failure,
    saved,
)
from .options import MODEL, RunOptions, with_memory

__all__ = ["Console", "Executor", "Workload", "run_workload"]

Console = Callable[[bytes], None]


class Executor(Protocol):
    """A machine with a workload in its memory."""

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run to the end; return False if the run was saved at its limit instead."""
        ...

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        ...


OptionsT = TypeVar("OptionsT", bound=RunOptions, contravariant=True)
ExecutorT = TypeVar("ExecutorT", bound=Executor)


class Workload(Protocol[OptionsT, ExecutorT]):
    """Work of a run: a kernel or a program on the cores, or a product commanded by a host.

    Attributes
    ----------
    driver : str
        ``cores`` or ``host``.

    """

    driver: str

    @property
    def subject(self) -> dict[str, Any]:
        """Kernel with its sizes, or program, by the keys of a result."""
        ...

    def sentence(self, preset: str) -> str:
        """Return the run in words."""
        ...

    def pose(self, preset: str, config: MachineConfig, options: OptionsT) -> dict[str, Any]:
        """Pose the problem; return the entries in the options of the result.

        Raise `UserError` if the machine cannot run it.
        """
        ...

    def prepare(
        self,
        preset: str,
        config: MachineConfig,
        options: OptionsT,
        console: Console | None,
        progress: Progress | None,
    ) -> AbstractContextManager[ExecutorT]:
        """Provide the machine with the workload in its memory."""
        ...

    def inputs(self, executor: ExecutorT, options: OptionsT) -> dict[str, Any]:
        """Return hashes of the inputs that a resumed run must share with the saved one."""
        ...

    def check(
        self, executor: ExecutorT, options: OptionsT, done: dict[str, Any]
    ) -> tuple[dict[str, Any], Mapping[str, np.ndarray]]:
        """Return the sections of the result that need the workload, and the final buffers."""
        ...


def run_workload(
    workload: Workload[OptionsT, Any],
    preset: str,
    config: MachineConfig,
    options: OptionsT,
    *,
    console: Console | None = None,
    progress: Progress | None = None,
    results: dict[str, np.ndarray] | None = None,
) -> dict[str, Any]:
    """Build the machine, run a workload and check it; return the result for a file.

    Raise `MachineError`, for programs `ProgramError`, if the run does not reach its end.

    Parameters
    ----------
    workload : Workload
        Work of the run.
    preset : str
        Name of the machine.
    config : MachineConfig
        Config of the machine.
    options : RunOptions
        Options of the run; `SimtOptions` for kernels and programs on the cores.
    console : callable or None
        Called with console output as it arrives.
    progress : callable or None
        Called with the stage, the steps done and all steps.
    results : dict or None
        Filled with the final contents of each buffer, by its name.

    """
    options.saving.require_sound(options.engine, options.trace is not None, options.max_cycles)
    if options.engine != MODEL:
        options = with_memory(config, options)
        if isinstance(options.memory, DramConfig):
            require_rtl(config, config.clusters)  # before anything is generated
    settings = workload.pose(preset, config, options)

    def new() -> dict[str, Any]:
        return new_result(
            preset=preset,
            config=config,
            engine=options.engine,
            driver=workload.driver,
            seed=options.seed,
            options=settings,
            memory=memory_of(options),
            **workload.subject,
        )

    with (
        record_failure(new),
        workload.prepare(preset, config, options, console, progress) as executor,
    ):
        arguments: dict[str, Any] = {"preset": preset, **workload.subject}
        if options.saving.is_used:
            arguments |= {"seed": options.seed, "spica": versions()["spica"]}
            arguments |= workload.inputs(executor, options)
        if not executor.execute(workload.sentence(preset), progress, arguments):
            return saved(new())
        done = executor.account()
        sections, buffers = workload.check(executor, options, done)
    if results is not None:
        results.update(buffers)
    return complete(new(), **done, **sections)


def memory_of(options: RunOptions) -> dict[str, Any]:
    """Return the memory of a run that begins."""
    if options.engine == MODEL or options.memory is None:
        return FUNCTIONAL
    return memory_section(options.memory)
