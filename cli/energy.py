"""Options of energy of ``spica run``, and the run that they select."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..explore.energy.gates import GateOptions, read_costs, require_gates, run_with_gates
from ..hw.base.errors import UserError
from ..hw.config import ClusterConfig
from ..sim.run.options import RunOptions
from ..sim.run.workload import run_workload
from .run_options import Options, flag_of, given

__all__ = ["energy_run"]

#: Options that need --energy-gates.
NEED_GATES = ("liberty", "sram_table", "clock", "energy_windows")


def energy_run(
    options: Options, config: ClusterConfig, settings: RunOptions
) -> Callable[..., dict[str, Any]]:
    """Return the function that runs a workload, with its energy if the options ask for it."""
    if not options.energy_gates:
        for name in NEED_GATES:
            if getattr(options, name) is not None:
                raise UserError(f"{flag_of(name)} needs --energy-gates")
        return run_workload
    if options.liberty is None:
        raise UserError(
            "--energy-gates needs --liberty, a cell library with power tables to map blocks to"
        )
    if options.save is not None or options.restore is not None:
        raise UserError("--energy-gates needs a whole run; leave out --save and --restore")
    require_gates(config, settings)
    gates = GateOptions(
        liberty=options.liberty,
        sram_table=options.sram_table,
        **given(megahertz=parsed_clock(options.clock)),
        **parsed_windows(options.energy_windows),
    )
    return partial(run_with_gates, costs=read_costs(gates), gates=gates)


def parsed_clock(megahertz: float | None) -> float | None:
    """Return the clock frequency; raise unless it is positive."""
    if megahertz is not None and not 0 < megahertz < float("inf"):
        raise UserError(f"--clock must be a positive number of MHz, not {megahertz:g}")
    return megahertz


def parsed_windows(text: str | None) -> dict[str, int]:
    """Return number and length of the windows."""
    if text is None:
        return {}
    count, _, length = text.partition("x")
    if not (count.isdecimal() and length.isdecimal() and int(count) and int(length)):
        raise UserError(
            f"--energy-windows must be windows and cycles of each, as in 16x64, not {text!r}"
        )
    return {"windows": int(count), "window_cycles": int(length)}
