"""Execution of a run: drafts of its files, progress, console, report and exit code."""

import codecs
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..api.progress import ProgressDisplay
from ..base.errors import MachineError, UserError
from ..explore.energy.event_model import EventOptions, require_event_run, run_with_events
from ..explore.energy.gates import GateOptions, read_costs, run_with_gates
from ..sim.run.request.run import Run
from ..sim.run.workload import run_workload
from .files import Draft, opened, write_dump
from .options import JsonOutput
from .results import deliver, deliver_failure
from .run_options import Options

__all__ = ["Terminal", "carry_out", "execution_of"]


class Terminal:
    """Console of a program: stops the progress bar and prints output as it arrives."""

    def __init__(self, stream, display: ProgressDisplay):
        self.stream = stream
        self.display = display
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.last = "\n"

    def __call__(self, data: bytes):
        self.display.stop()
        text = self.decoder.decode(data)
        self.stream.write(text)
        self.stream.flush()
        self.last = text[-1:] or self.last
        self.display.stop(is_held=self.last != "\n")  # progress begins a line of its own

    def finish(self):
        """End the last line if the program did not."""
        if self.last != "\n":
            self(b"\n")


def carry_out(
    run: Run,
    json: str | None,
    dumps: Sequence[tuple[str, Path]] = (),
    execute: Callable[..., dict[str, Any]] = run_workload,
) -> int:
    """Start a run by `execute`, report the result and write its dumps; return the exit code."""
    options = run.options
    buffers: dict[str, np.ndarray] = {}
    with (
        JsonOutput(json) as output,
        opened(dumps) as drafts,
        Draft(options.trace) if options.trace else nullcontext() as trace,
    ):
        options = replace(options, trace=None if trace is None else trace.draft)
        run = replace(run, options=options)
        try:
            result = shown(execute, run, output, buffers)
        except MachineError as error:
            keep(trace)  # the cycles before the fault are the ones to look at
            deliver_failure(error, output)
            raise
        keep(trace)
        for name, draft in drafts:
            if name in buffers:
                write_dump(draft, buffers[name])
        return deliver(result, output)


def shown(
    execute: Callable[..., dict[str, Any]],
    run: Run,
    output: JsonOutput,
    buffers: dict[str, np.ndarray],
) -> dict[str, Any]:
    """Start a run with progress and console on the terminal; return the result."""
    with ProgressDisplay() as progress:
        terminal = Terminal(sys.stderr if output.prints else sys.stdout, progress)
        try:
            return execute(
                run.workload,
                run.preset,
                run.config,
                run.options,
                console=terminal,
                progress=progress,
                results=buffers,
            )
        finally:
            terminal.finish()


def keep(trace: Draft | None):
    """Rename a trace to its place, if it was written."""
    if trace is not None and trace.draft.stat().st_size:
        trace.commit()


def execution_of(options: Options, run: Run) -> Callable[..., dict[str, Any]]:
    """Return the function that runs a workload, with its energy if the run has one."""
    energy = run.energy
    if energy is None:
        return run_workload
    if options.save is not None or options.restore is not None:
        raise UserError(f"{energy.option} needs a whole run; leave out --save and --restore")
    if energy.liberty is None:
        require_event_run(run.config, run.options)
        return partial(run_with_events, energy=EventOptions(**energy.costs))
    gates = GateOptions(
        liberty=energy.liberty, sram_table=energy.sram_table, **energy.costs, **energy.windows
    )
    return partial(run_with_gates, costs=read_costs(gates), gates=gates)
