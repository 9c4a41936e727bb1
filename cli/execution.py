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
from ..explore.energy.requirements import require_cluster_run
from ..sim.run.request.choices import flag_of, given
from ..sim.run.request.run import Run
from ..sim.run.workload import run_workload
from .files import Draft, opened, write_dump
from .options import JsonOutput
from .results import deliver, deliver_failure
from .run_options import Options

__all__ = ["Terminal", "carry_out", "energy_run"]

#: Options that need --energy-gates, and those that need it or --energy.
NEED_GATES = ("liberty", "sram_table", "energy_windows")
NEED_ENERGY = ("clock", "dram_energy")


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


def energy_run(options: Options, run: Run) -> Callable[..., dict[str, Any]]:
    """Return the function that runs a workload, with its energy if the options include one."""
    if options.energy and options.energy_gates:
        raise UserError("--energy does not apply to --energy-gates; leave one of them out")
    if not options.energy_gates:
        refuse(options, NEED_GATES, "--energy-gates")
    if not options.energy_gates and not options.energy:
        refuse(options, NEED_ENERGY, "--energy or --energy-gates")
        return run_workload
    option = "--energy" if options.energy else "--energy-gates"
    if options.energy_gates and options.liberty is None:
        raise UserError(
            "--energy-gates needs --liberty, a cell library with power tables to map blocks to"
        )
    if options.save is not None or options.restore is not None:
        raise UserError(f"{option} needs a whole run; leave out --save and --restore")
    costs = given(
        megahertz=positive("--clock", "MHz", options.clock),
        dram_pj_per_bit=positive("--dram-energy", "pJ per bit", options.dram_energy),
    )
    if options.energy:
        require_event_run(run.config, run.options)
        return partial(run_with_events, energy=EventOptions(**costs))
    assert options.liberty is not None
    require_cluster_run(run.config, run.options, option, "--engine")
    gates = GateOptions(
        liberty=options.liberty,
        sram_table=options.sram_table,
        **costs,
        **parsed_windows(options.energy_windows),
    )
    return partial(run_with_gates, costs=read_costs(gates), gates=gates)


def refuse(options: Options, names: Sequence[str], needed: str):
    """Raise if an option is given that needs another one."""
    for name in names:
        if getattr(options, name) is not None:
            raise UserError(f"{flag_of(name)} needs {needed}")


def positive(option: str, unit: str, value: float | None) -> float | None:
    """Return the value of an option, if it is given; raise unless it is positive."""
    if value is not None and not 0 < value < float("inf"):
        raise UserError(f"{option} must be a positive number of {unit}, not {value:g}")
    return value


def parsed_windows(text: str | None) -> dict[str, int]:
    """Return number and length of the windows."""
    if text is None:
        return {}
    count, _, length = text.partition("x")
    if not (count.isdecimal() and length.isdecimal() and int(count) and int(length)):
        raise UserError(
            f"--energy-windows must be windows and cycles of each, as in 128x8, not {text!r}"
        )
    return {"windows": int(count), "window_cycles": int(length)}
