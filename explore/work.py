"""Work of a sweep: run of a kernel, measurement of an area; each with a key of its content."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from .. import hw, kernels, sim, synth
from ..hw.base.build_cache import digest
from ..hw.base.errors import MachineError, UserError
from ..hw.base.progress import Progress
from ..hw.config import MachineConfig
from ..hw.config.rtl_support import require_rtl
from ..hw.emit.shared_block import describe
from ..sim.engine.versions import versions
from ..sim.report.check_report import lost_elements
from ..sim.run.exact_kernels import kernel_of
from ..sim.run.options import MODEL, RunOptions, SimtOptions, with_memory
from ..sim.run.product_workload import ProductWorkload
from ..sim.run.program_workload import KernelWorkload
from ..sim.run.workload import Workload, run_workload
from ..synth.area import measure_cluster
from ..synth.grouped import Pricing, group_measurements, total_measurement
from .energy.event_model import EventOptions, require_event_run, run_with_events
from .metrics import AREA_METRICS, RUN_METRICS, figures_of
from .record import ERROR, PASS, REFUSED, STOPPED, Record
from .steps import StepFile

__all__ = ["AreaMeasurement", "KernelRun", "Work", "carried_out", "failure_of", "source_key"]

#: Longest reason, in characters.
REASON = 300


class Work(Protocol):
    """Piece of work; its key determines its record.

    Immediate work takes milliseconds: it is done in the process of the sweep, and is not stored.
    """

    kind: ClassVar[str]
    is_immediate: ClassVar[bool]

    @property
    def config(self) -> MachineConfig:
        """Config of the machine."""
        ...

    @property
    def key(self) -> str:
        """Hash of the content: everything that determines the record."""
        ...

    def record(self, progress: Progress | None = None) -> Record:
        """Do the work; return its record."""
        ...


@functools.cache
def source_key() -> str:
    """Return a hash of the versions of all tools and of all sources of models and kernels."""
    folders = [Path(room.__path__[0]) for room in (hw, kernels, sim, synth)]
    folders.append(Path(__file__).parent)
    parts: list[str | bytes] = [describe(versions())]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                parts += [path.relative_to(folder.parent).as_posix(), path.read_bytes()]
    return digest(parts)


@dataclass(frozen=True, kw_only=True)
class KernelRun:
    """Run of a kernel on one machine.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    driver : str
        ``cores``, or ``host`` for a product that a host commands.
    preset : str
        Name of the machine.
    config : MachineConfig
        Config of the machine.
    sizes : mapping of str to int
        Sizes of the kernel by dimension.
    product : mapping
        Options of the data of a matrix product.
    options : RunOptions
        Options of the run.
    energy : EventOptions or None
        Options of its energy from events; None without energy.

    """

    kernel: str
    driver: str
    preset: str
    config: MachineConfig
    sizes: Mapping[str, int]
    product: Mapping[str, Any]
    options: RunOptions
    energy: EventOptions | None = None

    kind: ClassVar[str] = "sweep-run"
    is_immediate: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """Hash of the content: everything that determines the record."""
        return digest([describe(self), source_key()])

    @property
    def workload(self) -> Workload:
        """Workload of the run."""
        sizes = dict(self.sizes)
        if self.driver == "host":
            return ProductWorkload(**sizes, **self.product)
        return KernelWorkload(kernel_of(self.kernel, self.config, self.product), sizes)

    def require_possible(self):
        """Raise `UserError` if the machine cannot run the kernel; nothing is built."""
        workload, options = self.workload, self.options
        if options.engine != MODEL:
            require_rtl(self.config)
            options = with_memory(self.config, options)
        if self.energy is not None:
            require_event_run(self.config, options)
        workload.pose(self.preset, self.config, options)
        if isinstance(workload, KernelWorkload):
            assert isinstance(options, SimtOptions)
            workload.place(self.config, options)

    def record(self, progress: Progress | None = None) -> Record:
        """Run the kernel; return verdict, figures, counters and result."""
        execute = run_workload
        if self.energy is not None:
            execute = functools.partial(run_with_events, energy=self.energy)
        try:
            result = execute(
                self.workload, self.preset, self.config, self.options, progress=progress
            )
        except MachineError as error:
            return Record(status=STOPPED, reason=one_line(error), result=error.result)
        check = result["check"]
        return Record(
            status=check["verdict"],
            reason="" if check["verdict"] == PASS else failure_of(check),
            figures=figures_of(RUN_METRICS, result),
            counters=result["counters"] or {},
            result=result,
        )


@dataclass(frozen=True, kw_only=True)
class AreaMeasurement:
    """Area of one machine.

    Parameters
    ----------
    config : MachineConfig
        Config of the machine.

    """

    config: MachineConfig

    kind: ClassVar[str] = "sweep-area"
    is_immediate: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """Hash of the content: everything that determines the record."""
        return digest([describe(self), source_key()])

    def record(self, progress: Progress | None = None) -> Record:
        """Synthesise the machine; return its area and depth."""
        require_rtl(self.config)
        if progress is not None:
            progress("measuring the area", 0, 1)
        measured = measure_cluster(self.config, "cluster", workers=1)  # one of many processes
        report = {
            "nand2_with_sram": total_measurement(measured, Pricing()).nand2,
            "nand2": measured.nand2,
            "cells": measured.cells,
            "sram_bits": measured.sram_bits,
            "depth": measured.depth,
        }
        groups = group_measurements(measured, Pricing())
        result = report | {"groups": {group.name: group.nand2 for group in groups}}
        return Record(status=PASS, figures=figures_of(AREA_METRICS, report), result=result)


def carried_out(work: Work, expected: str, steps: StepFile | None = None) -> Record:
    """Do a piece of work, also in another process or on another machine; return its record.

    An error of the installation or of its disk is raised as `UserError`: it concerns all points.

    Parameters
    ----------
    work : Work
        Piece of work.
    expected : str
        `source_key` of the process that stores the record.
    steps : StepFile or None
        Receiver of its steps.

    """
    if source_key() != expected:
        raise UserError(
            "a worker has another version of Spica or of its tools; install the same on all workers"
        )
    try:
        return work.record(steps)
    except UserError as error:
        if isinstance(error.__cause__, OSError):
            raise UserError(str(error)) from None
        return Record(status=REFUSED, reason=one_line(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise UserError(f"{place}{(error.strerror or str(error)).lower()}") from None
    except Exception as error:
        return Record(status=ERROR, reason=one_line(f"{type(error).__name__}: {error}"))
    finally:
        if steps is not None:
            steps.path.unlink(missing_ok=True)


def failure_of(check: Mapping[str, Any]) -> str:
    """Return the reason of a failed check."""
    wrong = [
        f"{name}: {wrong_elements(buffer)}"
        for name, buffer in check["buffers"].items()
        if buffer["wrong"] or buffer["guard_bytes_changed"]
    ]
    others = [check["device_errors"], *check["code_warnings"]]
    code = [f"exit code {check['exit_code']}"] if check["exit_code"] else []
    return one_line("; ".join(filter(None, [*code, *wrong, *others])))


def wrong_elements(buffer: Mapping[str, Any]) -> str:
    """Return how many elements of a buffer are wrong."""
    elements, left = buffer["elements"], lost_elements(buffer)
    parts = [f"{left:,} of {elements:,} values left the range of the format"] if left else []
    if buffer["wrong"] != left or not left:
        parts.append(f"{buffer['wrong'] - left:,} of {elements:,} elements are wrong")
    return ", ".join(parts)


def one_line(message: object) -> str:
    """Return a message on one line of limited length."""
    return " ".join(str(message).split())[:REASON]
