"""Cluster of two small cores with a matrix unit, on which most tests of clusters run."""

from dataclasses import replace

from spica.hw.config import CoreConfig
from spica.hw.presets import PRESETS
from spica.sim.machine.program_machine import ProgramMachine

__all__ = ["TWO", "two_cores"]

TWO = replace(PRESETS["tiny"], cores=2, core=CoreConfig(warps=2, threads=2))


def two_cores(**options) -> ProgramMachine:
    """Return a machine that runs programs; all tests share its model."""
    return ProgramMachine(TWO, name="two_observed", optimize=1, **options)
