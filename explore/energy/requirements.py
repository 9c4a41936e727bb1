"""Requirements of a run whose energy is computed from gates or from events."""

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...sim.harness.dram import DramConfig
from ...sim.run.options import RunOptions, with_memory

__all__ = ["EVENTS", "GATES", "require_cluster_run"]

#: Options of the command line that ask for an energy.
EVENTS, GATES = "--energy", "--energy-gates"


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
