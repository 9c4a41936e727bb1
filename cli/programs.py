"""Programs for the cores: kernels and users' own."""

import codecs
import dataclasses
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..hw.base.errors import UserError
from ..hw.config import ClusterConfig
from ..kernels.kernel import Kernel, find_kernel
from ..sim.diagnose.diagnostics import ProgramError
from ..sim.engine.verilator_engine import GATINGS
from ..sim.report.program_report import simt_report
from ..sim.run.core_executor import TRACES, WAVEFORM
from ..sim.run.loading import SCHEDULES, SimtOptions
from ..sim.run.program_run import run_program, run_simt
from .files import Draft
from .gemm import keep
from .options import JsonOutput, choose
from .progress import ProgressDisplay
from .saving import is_unfinished
from .sizes import require_at_least

__all__ = ["Terminal", "is_file_name", "is_waveform", "run_cores"]

FAIL = 1


class Terminal:
    """Shows what a program prints as it comes, once the progress bar is out of its way."""

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
        """End a line that the program left open."""
        if self.last != "\n":
            self(b"\n")


def is_file_name(name: str) -> bool:
    """Return whether a user means a file, not a kernel."""
    return "." in name or "/" in name


def is_waveform(trace: Path | None) -> bool:
    """Return whether a trace is one of signals."""
    return trace is not None and trace.suffix == WAVEFORM


def require_sound(options: SimtOptions):
    """Raise unless every option is one that a run can have."""
    choose("schedule", options.schedule, SCHEDULES)
    choose("gating", options.gating, GATINGS)
    if options.trace is not None:
        choose("suffix of --trace", options.trace.suffix, TRACES)
    if not 0 <= options.optimize <= 3:
        raise UserError(f"--optimize must be 0 to 3, not {options.optimize}")
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
    """Run a kernel, or a program from files, and report; return the exit code.

    Parameters
    ----------
    names : list of str
        A kernel, or files.
    sizes : callable
        Returns the sizes of a kernel's dimensions.
    kernel : Kernel or None
        The kernel of that name, where it depends on the machine; None for that of its folder.

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
        except ProgramError as error:
            keep(draft)  # what was recorded before the end is what one looks at
            what = {"program": names} if is_file_name(names[0]) else {"kernel": names[0]}
            diagnostics = {"check": {"verdict": "fail"}, "diagnostics": error.diagnostics}
            output.write({"preset": preset, **what, **diagnostics})
            raise
        keep(draft)
        if is_unfinished(result):
            output.write(result)
            return 0
        if output.write(result):
            print(simt_report(result), end="")
    return 0 if result["check"]["verdict"] == "pass" else FAIL
