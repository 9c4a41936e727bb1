"""Runs of kernels and programs on the cores, from checked options to the exit code."""

import codecs
import dataclasses
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..hw.base.errors import MachineError, UserError
from ..hw.config import ClusterConfig
from ..kernels.kernel import Kernel, find_kernel
from ..sim.engine.verilator_engine import GATINGS
from ..sim.run.core_executor import TRACES, WAVEFORM
from ..sim.run.loading import SCHEDULES, SimtOptions
from ..sim.run.program_run import run_program, run_simt
from .files import Draft
from .gemm import keep
from .options import JsonOutput, choose
from .progress import ProgressDisplay
from .results import deliver, deliver_failure
from .sizes import require_at_least

__all__ = ["Terminal", "is_file_name", "is_waveform", "run_cores"]


class Terminal:
    """Console of a program: stops the progress bar and prints output as it arrives."""

    def __init__(self, stream, display: ProgressDisplay):
        self.stream = stream
        self.display = display
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.last = "\n"

    def __call__(self, data: bytes):
        self.display.progress.stop()
        text = self.decoder.decode(data)
        self.stream.write(text)
        self.stream.flush()
        self.last = text[-1:] or self.last

    def finish(self):
        """End the last line if the program did not."""
        if self.last != "\n":
            self(b"\n")


def is_file_name(name: str) -> bool:
    """Return whether a name is a file, not a kernel."""
    return "." in name or "/" in name


def is_waveform(trace: Path | None) -> bool:
    """Return whether a trace is a waveform."""
    return trace is not None and trace.suffix == WAVEFORM


def require_sound(options: SimtOptions):
    """Raise unless every option has a valid value."""
    choose("--schedule", options.schedule, SCHEDULES)
    choose("--gating", options.gating, GATINGS)
    if options.trace is not None:
        choose("suffix of --trace", options.trace.suffix, TRACES)
    if not 0 <= options.optimize <= 3:
        raise UserError(f"--optimize must be between 0 and 3, not {options.optimize}")
    limits = {"--max-instructions": options.max_instructions, "--max-cycles": options.max_cycles}
    require_at_least(1, limits)


def run_cores(
    names: list[str],
    preset: str,
    config: ClusterConfig,
    sizes: Callable[[tuple[str, ...]], dict[str, int]],
    options: SimtOptions,
    json: str | None,
    kernel: Kernel | None = None,
) -> int:
    """Run a kernel, or a program from files, and report the result; return the exit code.

    Parameters
    ----------
    names : list of str
        Name of a kernel, or files of a program.
    sizes : callable
        Returns the sizes of a kernel by its dimensions.
    kernel : Kernel or None
        The kernel, if it depends on the machine; None for the kernel of the folder of that name.

    """
    require_sound(options)
    trace = options.trace
    with JsonOutput(json) as output, Draft(trace) if trace else nullcontext() as draft:
        if trace is not None and draft is not None:
            options = dataclasses.replace(options, trace=draft.draft)
        try:
            with ProgressDisplay() as progress:
                terminal = Terminal(sys.stderr if output.prints else sys.stdout, progress)
                shared: dict[str, Any] = {"console": terminal, "progress": progress}
                try:
                    if is_file_name(names[0]):
                        files = [Path(name) for name in names]
                        result = run_program(files, preset, config, options, **shared)
                    else:
                        kernel = kernel or find_kernel(names[0])
                        chosen = sizes(kernel.dimensions)
                        result = run_simt(kernel, preset, config, chosen, options, **shared)
                finally:
                    terminal.finish()
        except MachineError as error:
            keep(draft)  # the cycles before the end are the ones to look at
            deliver_failure(error, output)
            raise
        keep(draft)
        return deliver(result, output)
