"""Restrictions of the published machine, each as a change of a design's run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...hw.config import MachineConfig
from ...hw.presets.override import override
from ...kernels.gemm.styles import style_of
from ...sim.harness.dram import DramConfig
from ..work.kernel_run import KernelRun
from .published import DESIGNS

__all__ = ["RESTRICTIONS", "Restriction", "combined", "restricted", "tile_of"]

#: Designs whose cores load operands from shared memory.
FED_BY_REGISTERS = ("volta", "ampere")


@dataclass(frozen=True, kw_only=True)
class Restriction:
    """Restriction of the published machine.

    Parameters
    ----------
    name : str
        Name in JSON.
    label : str
        Row of a table.
    settings : tuple of str
        Settings of the machine.
    memory : mapping
        Changed parameters of the DRAM.
    is_apart : bool
        Whether each tile of C is a product by itself.
    designs : sequence of str
        Presets on which it changes a run.

    """

    name: str
    label: str
    settings: tuple[str, ...] = ()
    memory: Mapping[str, float] = field(default_factory=dict)
    is_apart: bool = False
    designs: Sequence[str] = tuple(DESIGNS)


#: In the order in which they are combined. The first follows from the published cycles: those of
#: Virgo are, for each tile of C, the cycles of its multiply-adds and a constant, in which 11 bytes
#: per cycle load the operands of one step.
RESTRICTIONS = (
    Restriction(name="apart", label="each tile of C by itself", is_apart=True),
    Restriction(name="memory", label="DRAM of 11 B/cycle", memory={"bytes_per_cycle": 11}),
    Restriction(
        name="issue", label="results only through registers", settings=("core.snoop=false",)
    ),
    Restriction(
        name="narrow",
        label="two words of shared memory per cycle",
        settings=("core.row_port=false", "core.shared_ports=2"),
        designs=FED_BY_REGISTERS,
    ),
    Restriction(
        name="serial",
        label="one word of shared memory per cycle",
        settings=("core.row_port=false", "core.shared_ports=1"),
        designs=FED_BY_REGISTERS,
    ),
)


def tile_of(config: MachineConfig) -> tuple[int, int]:
    """Return the rows and columns of the tile of C that ``gemm`` computes at a time."""
    return style_of(config).tile(config)


def combined(design: str, count: int = len(RESTRICTIONS)) -> list[Restriction]:
    """Return those of the first restrictions that concern a design."""
    return [restriction for restriction in RESTRICTIONS[:count] if design in restriction.designs]


def restricted(run: KernelRun, restrictions: Iterable[Restriction]) -> KernelRun:
    """Return a run of ``gemm`` under restrictions; a later one replaces settings of earlier ones.

    A tile by itself stands for all tiles: each takes its cycles, so the utilisation is the same.
    """
    for restriction in restrictions:
        config = override(run.config, restriction.settings)
        memory = run.options.memory
        assert isinstance(memory, DramConfig)
        options = replace(run.options, memory=replace(memory, **restriction.memory))
        run = replace(run, config=config, options=options)
        if restriction.is_apart:
            rows, columns = tile_of(run.config)
            sizes = {
                "m": min(run.sizes["m"], rows),
                "n": min(run.sizes["n"], columns),
                "k": run.sizes["k"],
            }
            run = replace(run, sizes=sizes)
    return run
