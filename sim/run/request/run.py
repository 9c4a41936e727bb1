"""Run that is decided: everything that determines it, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ....base.progress import Progress
from ....hw.config import MachineConfig
from ....kernels.kernel import Kernel
from ..exact_kernels import kernel_of
from ..options import RunOptions
from ..product_workload import ProductWorkload
from ..program_workload import KernelWorkload, ProgramWorkload
from ..workload import Workload, run_workload
from .energy import RunEnergy

__all__ = ["Run"]


@dataclass(frozen=True, kw_only=True)
class Run:
    """Run of a kernel or a program on one machine.

    Parameters
    ----------
    kernel : str
        Name of the kernel, or first file of the program.
    driver : str
        ``cores``, or ``host`` for a product that a host commands.
    preset : str
        Name of the machine.
    config : MachineConfig
        Config of the machine.
    sizes : mapping of str to int
        Sizes of the kernel by dimension.
    product : mapping
        Options of the data of a matrix product or of attention.
    options : RunOptions
        Options of the run; `SimtOptions` on the cores.
    files : tuple of Path
        Files of a program without arguments.
    own : Kernel or None
        Program of the user with its arguments and its check.
    arrays : mapping of str to ndarray
        Inputs of the kernel in place of generated ones.
    energy : RunEnergy or None
        Energy to report, by the caller: `start` computes none.

    """

    kernel: str
    driver: str
    preset: str
    config: MachineConfig
    sizes: Mapping[str, int] = field(default_factory=dict)
    product: Mapping[str, Any] = field(default_factory=dict)
    options: RunOptions
    files: tuple[Path, ...] = ()
    own: Kernel | None = None
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    energy: RunEnergy | None = None

    @property
    def workload(self) -> Workload:
        """New workload of the run."""
        if self.driver == "host":
            return ProductWorkload(**self.sizes, **self.product)
        if self.own is not None:
            return KernelWorkload(self.own, {})
        if self.files:
            return ProgramWorkload(self.files)
        kernel = kernel_of(self.kernel, self.config, self.product)
        return KernelWorkload(kernel, dict(self.sizes), self.arrays or None)

    def start(
        self,
        *,
        console: Callable[[bytes], None] | None = None,
        progress: Progress | None = None,
        results: dict[str, np.ndarray] | None = None,
    ) -> dict[str, Any]:
        """Start the run and bring it to its end, as `run_workload`; return its result."""
        return run_workload(
            self.workload,
            self.preset,
            self.config,
            self.options,
            console=console,
            progress=progress,
            results=results,
        )
