"""Trace of the cycles before a difference in lockstep, with operands."""

import tempfile
from pathlib import Path

import numpy as np

from ...kernels.program import Program
from ..iss.machine import Iss
from ..machine.program_machine import ProgramMachine, Window
from ..trace import write_difference

__all__ = ["BEFORE", "record_difference", "window_before"]

#: Cycles in the trace before the difference.
BEFORE = 400
#: Cycles before those, in which instructions complete that were in flight at the beginning.
EARLIER = 400


def window_before(cycle: int) -> Window:
    """Return the recorded cycles for a difference in `cycle`."""
    return max(0, cycle - BEFORE - EARLIER), cycle + 1


def record_difference(machine: ProgramMachine, program: Program, cycle: int) -> Path:
    """Run a program up to a difference in `cycle` and return the file of its trace.

    The file is a new one in the folder of temporary files, in the format of an instruction log.

    Parameters
    ----------
    machine : ProgramMachine
        Machine in lockstep that records the cycles of `window_before`, with the program and its
        data in its memory.
    program : Program
        The program, for names and source lines.
    cycle : int
        Cycle of the difference.

    """
    first, end = window_before(cycle)
    if first:
        machine.run(first)
    assert machine.iss is not None, "a difference needs lockstep"
    registers = registers_of(machine.iss)
    machine.run(end - first)
    with tempfile.NamedTemporaryFile(
        prefix=f"spica-{program.path.stem}-", suffix=".log", delete=False
    ) as file:
        path = Path(file.name)
    write_difference(
        path, machine.records(), machine.config, program, registers, max(first, cycle - BEFORE)
    )
    return path


def registers_of(iss: Iss) -> list[dict[int, np.ndarray]]:
    """Return the registers of the warps of each core, (64, threads)."""
    return [
        {
            warp: np.concatenate([state.integers, state.floats])
            for warp in range(iss.core.warps)
            for state in [iss.warp(core, warp)]
        }
        for core in range(iss.config.cores)
    ]
