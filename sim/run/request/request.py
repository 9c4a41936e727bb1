"""Request of a run: values as a user states them, and the runs to which each is restricted."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ...harness.dram import DramConfig
from ..inputs.own_programs import Arguments, Expected
from .choices import flag_of

__all__ = ["Only", "Request"]


class Only(enum.Enum):
    """Runs to which an option is restricted; all other options apply to every run."""

    RTL = enum.auto()
    SIMPLE_MEMORY = enum.auto()
    CORES = enum.auto()
    DRAM = enum.auto()
    MODEL = enum.auto()
    PROGRAMS = enum.auto()
    MATRIX = enum.auto()
    PRODUCT = enum.auto()
    ATTENTION = enum.auto()
    KERNELS = enum.auto()
    OWN = enum.auto()


@dataclass(frozen=True, kw_only=True)
class Request:
    """Run as a user states it, on the command line or in Python; `resolve` decides and validates.

    Fields that the command line has too are described at its options, `cli.run_options`. None, or
    an empty value, stands for an option that is not given.

    Parameters
    ----------
    kernel : str or Path
        Name of a kernel, or first file of a program.
    files : tuple of str
        Further files of the program.
    preset : str
        Name of the machine; empty for the usual one of the kernel.
    config : MachineConfig or None
        Config of the machine, in place of that of the preset.
    sizes : mapping or None
        All sizes of a kernel by dimension, or arrays in place of its generated inputs, in place of
        `size`, `m`, `n` and `k`.
    problem : mapping
        Further options of the data of a matrix product or of attention, by their names in the
        function that poses it: operands in place of generated ones, for example.
    arg : tuple of str
        Arguments of an own program, or arrays of a kernel, as texts of the command line.
    args, expect, rtol, atol
        Arguments of an own program and expected contents, as `own_programs.own_kernel` takes them;
        None for a program without arguments.
    memory : DramConfig or None
        DRAM, in place of options of the memory.
    dump : tuple of str
        Buffers, or ranges of DRAM as ``address:bytes``, to return after the run.
    is_lockstep_usual : bool
        Whether the model checks the cores if `lockstep` is not given.

    """

    kernel: str | Path
    files: tuple[str | Path, ...] = ()
    preset: str = ""
    config: MachineConfig | None = None
    settings: tuple[str, ...] = ()
    sizes: Mapping[str, Any] | None = None
    problem: Mapping[str, Any] = field(default_factory=dict)
    args: Arguments | None = None
    expect: Expected = field(default_factory=dict)
    rtol: float = 0.0
    atol: float = 0.0
    memory: DramConfig | None = None
    is_lockstep_usual: bool = True

    size: Annotated[str | None, Only.KERNELS] = None
    m: Annotated[int | None, Only.KERNELS] = None
    n: Annotated[int | None, Only.KERNELS] = None
    k: Annotated[int | None, Only.KERNELS] = None
    c: Annotated[str | None, Only.PRODUCT] = None
    keys: Annotated[int | None, Only.ATTENTION] = None
    heads: Annotated[int | None, Only.ATTENTION] = None
    kv_heads: Annotated[int | None, Only.ATTENTION] = None
    batch: Annotated[int | None, Only.ATTENTION] = None
    causal: Annotated[bool | None, Only.ATTENTION] = None
    scale: Annotated[float | None, Only.ATTENTION] = None
    engine: str = "verilator"
    driver: Annotated[str | None, Only.MATRIX] = None
    dram_bandwidth: Annotated[int | None, Only.DRAM] = None
    dram_latency: Annotated[int | None, Only.DRAM] = None
    memory_latency: Annotated[int | None, Only.SIMPLE_MEMORY] = None
    memory_jitter: Annotated[int | None, Only.SIMPLE_MEMORY] = None
    memory_stall: Annotated[float | None, Only.SIMPLE_MEMORY] = None
    data: Annotated[str | None, Only.MATRIX] = None
    arrange: Annotated[str | None, Only.PRODUCT] = None
    seed: int = 1
    gating: Annotated[str | None, Only.RTL] = None
    build: Annotated[str | None, Only.RTL] = None
    max_cycles: Annotated[int | None, Only.RTL] = None
    lockstep: Annotated[bool | None, Only.CORES] = None
    races: Annotated[str | None, Only.CORES] = None
    optimize: Annotated[int | None, Only.PROGRAMS] = None
    includes: Annotated[tuple[Path, ...], Only.PROGRAMS] = ()
    defines: Annotated[tuple[str, ...], Only.PROGRAMS] = ()
    schedule: Annotated[str | None, Only.MODEL] = None
    check: Annotated[str | None, Only.PROGRAMS] = None
    max_instructions: Annotated[int | None, Only.MODEL] = None
    allow_spills: bool = False
    stack_bytes: Annotated[int | None, Only.PROGRAMS] = None
    allow_region: Annotated[tuple[str, ...], Only.PROGRAMS] = ()
    arg: Annotated[tuple[str, ...], Only.OWN] = ()
    profile: Annotated[bool | None, Only.CORES] = None
    trace: Annotated[Path | None, Only.RTL] = None
    energy: Annotated[bool | None, Only.RTL] = None
    energy_gates: Annotated[bool | None, Only.RTL] = None
    liberty: Annotated[Path | None, Only.RTL] = None
    sram_table: Annotated[Path | None, Only.RTL] = None
    clock: Annotated[float | None, Only.RTL] = None
    energy_windows: Annotated[str | None, Only.RTL] = None
    dram_energy: Annotated[float | None, Only.RTL] = None
    trace_window: Annotated[str | None, Only.RTL] = None
    dump: Annotated[tuple[str, ...], Only.PROGRAMS] = ()

    @property
    def single_sizes(self) -> dict[str, int | None]:
        """Sizes of single dimensions."""
        return {"m": self.m, "n": self.n, "k": self.k}

    def is_given(self, name: str) -> bool:
        """Return whether a restricted option is given."""
        return getattr(self, name) not in (None, ())

    def refuse(self, subject: str, *runs: Only, instead: str = ""):
        """Raise if an option is given that is restricted to these runs; `instead` allows it."""
        advice = f"leave it out, or choose {instead}" if instead else "leave it out"
        for restriction in runs:
            for option in fields(self):
                metadata = getattr(option.type, "__metadata__", ())
                if restriction in metadata and self.is_given(option.name):
                    raise UserError(f"{flag_of(option.name)} does not apply to {subject}; {advice}")
