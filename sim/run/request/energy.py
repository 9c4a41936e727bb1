"""Energy of a run that a request stands for: from events or from gates, with its costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ...harness.dram import DramConfig
from ..options import RunOptions, with_memory
from .choices import flag_of, given
from .request import Request

__all__ = ["EVENTS", "GATES", "RunEnergy", "energy_of", "require_cluster_run"]

#: Options of the command line that ask for an energy.
EVENTS, GATES = "--energy", "--energy-gates"
#: Options that need --energy-gates, and those that need it or --energy.
NEED_GATES = ("liberty", "sram_table", "energy_windows")
NEED_ENERGY = ("clock", "dram_energy")


@dataclass(frozen=True, kw_only=True)
class RunEnergy:
    """Energy to report of a run.

    Parameters
    ----------
    option : str
        `EVENTS` or `GATES`.
    costs : mapping of str to float
        ``megahertz`` and ``dram_pj_per_bit``, those that are given.
    liberty : Path or None
        Cell library of gates.
    sram_table : Path or None
        Macros of memories; None for macros of an open process.
    windows : mapping of str to int
        ``windows`` and ``window_cycles`` that are sampled, if they are given.

    """

    option: str
    costs: Mapping[str, float] = field(default_factory=dict)
    liberty: Path | None = None
    sram_table: Path | None = None
    windows: Mapping[str, int] = field(default_factory=dict)


def energy_of(request: Request, config: MachineConfig, options: RunOptions) -> RunEnergy | None:
    """Return the energy that a request asks for, None for none."""
    if request.energy and request.energy_gates:
        raise UserError(f"{EVENTS} does not apply to {GATES}; leave one of them out")
    if not request.energy_gates:
        refuse(request, NEED_GATES, GATES)
    if not request.energy_gates and not request.energy:
        refuse(request, NEED_ENERGY, f"{EVENTS} or {GATES}")
        return None
    if request.energy_gates and request.liberty is None:
        raise UserError(
            f"{GATES} needs --liberty, a cell library with power tables to map blocks to"
        )
    costs = given(
        megahertz=positive("--clock", "MHz", request.clock),
        dram_pj_per_bit=positive("--dram-energy", "pJ per bit", request.dram_energy),
    )
    if request.energy:
        require_cluster_run(config, options, EVENTS)
        return RunEnergy(option=EVENTS, costs=costs)
    require_cluster_run(config, options, GATES, "--engine")
    return RunEnergy(
        option=GATES,
        costs=costs,
        liberty=request.liberty,
        sram_table=request.sram_table,
        windows=parsed_windows(request.energy_windows),
    )


def require_cluster_run(
    config: MachineConfig, options: RunOptions, option: str, engine: str = "engine"
):
    """Raise unless a run is one of the whole cluster on Verilator, as its energy needs.

    Parameters
    ----------
    config : MachineConfig
        The machine.
    options : RunOptions
        Options of the run.
    option : str
        Option that asks for the energy, for the message.
    engine : str
        Name of the option of the engine in it.

    """
    if options.engine != "verilator":
        raise UserError(f"{option} needs {engine} verilator, not {options.engine}")
    if not isinstance(with_memory(config, options).memory, DramConfig):
        raise UserError(
            f"{option} needs the whole cluster with DRAM, not cores at a simple memory; add "
            "--dram-latency 100"
        )


def refuse(request: Request, names: Sequence[str], needed: str):
    """Raise if an option is given that needs another one."""
    for name in names:
        if getattr(request, name) is not None:
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
