"""Cases of a snapshot: runs of kernels; config, Verilog and area of presets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spica.base.build_cache import digest
from spica.base.errors import MachineError
from spica.base.progress import Progress
from spica.explore.work.failure import failure_of, one_line
from spica.explore.work.record import PASS, STOPPED, Record
from spica.hw.config import MachineConfig
from spica.hw.config.rtl_support import require_rtl
from spica.hw.emit.shared_block import describe
from spica.sim.engine.emission_cache import emit_cached
from spica.sim.run.options import MODEL
from spica.sim.run.request.request import Request
from spica.sim.run.request.resolve import resolve
from spica.sim.run.workload import run_workload
from spica.synth.area import area_report, measure_cluster

from .facts import Facts, area_facts, config_facts, run_facts, verilog_facts
from .source import tree_key

__all__ = ["PARTS", "RTL", "Case", "PresetCase", "RunCase"]

#: Engine of runs whose names have none.
RTL = "verilator"
#: Limit of a run, in cycles or in warp instructions: about ten times the longest.
LIMIT = 2_000_000


@dataclass(frozen=True, kw_only=True)
class Case:
    """Case of a snapshot: a piece of work for `explore.sweep.execution.carried_out`.

    The result of its record is `facts.Facts`.

    Parameters
    ----------
    preset : str
        Name of the machine.
    config : MachineConfig
        Config of the machine.

    """

    preset: str
    config: MachineConfig

    kind: ClassVar[str] = "snapshot"
    is_immediate: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Description, the key of the case in a snapshot."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """Hash of everything that determines the record."""
        return digest([describe(self), tree_key()])

    def record(self, progress: Progress | None = None) -> Record:
        """Carry the case out; raise `UserError` if it is refused."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class RunCase(Case):
    """Run of a kernel, with the choices and refusals of ``spica run``.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    engine : str
        Engine of ``spica list``.
    options : mapping
        Further options of ``spica run``, by their names in Python.

    """

    kernel: str
    engine: str = RTL
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Description, the key of the case in a snapshot."""
        others = [
            name if value is True else f"{name} {value}"
            for name, value in self.options.items()
            if name != "size"
        ]
        if self.engine != RTL:
            others.append(self.engine)
        return ", ".join([f"{self.kernel} {self.options['size']} on {self.preset}", *others])

    def record(self, progress: Progress | None = None) -> Record:
        """Run the kernel; raise `UserError` if the machine cannot."""
        limit = "max_instructions" if self.engine == MODEL else "max_cycles"
        given: dict[str, Any] = {**self.options, limit: LIMIT}
        run = resolve(
            Request(
                kernel=self.kernel,
                preset=self.preset,
                config=self.config,
                engine=self.engine,
                **given,
            )
        )
        workload = run.workload
        buffers: dict[str, np.ndarray] = {}
        try:
            result = run_workload(workload, run.preset, run.config, run.options, results=buffers)
        except MachineError as error:
            return Record(status=STOPPED, reason=one_line(error))
        check = result["check"]
        return Record(
            status=check["verdict"],
            reason="" if check["verdict"] == PASS else failure_of(check),
            result=run_facts(workload, result, buffers),
        )


@dataclass(frozen=True, kw_only=True)
class PresetCase(Case):
    """Config, Verilog or area of a preset.

    Parameters
    ----------
    part : str
        One of `PARTS`.

    """

    part: str

    @property
    def name(self) -> str:
        """Description, the key of the case in a snapshot."""
        return f"{self.part} of {self.preset}"

    def record(self, progress: Progress | None = None) -> Record:
        """Return the facts; raise `UserError` if the preset has no RTL."""
        return Record(status=PASS, result=PARTS[self.part](self.config, self.preset))


def config_of(config: MachineConfig, preset: str) -> Facts:
    """Return the fields of a preset."""
    return config_facts(config)


def verilog_of(config: MachineConfig, preset: str) -> Facts:
    """Emit a preset; return its Verilog, JSON description and C header."""
    require_rtl(config, config.clusters)
    return verilog_facts(emit_cached(config, preset))


def area_of(config: MachineConfig, preset: str) -> Facts:
    """Synthesise a preset, one block at a time; return its area and depth."""
    require_rtl(config, config.clusters)
    return area_facts(area_report(measure_cluster(config, preset, workers=1)))


#: Parts of a preset with their functions.
PARTS: dict[str, Callable[[MachineConfig, str], Facts]] = {
    "config": config_of,
    "Verilog": verilog_of,
    "area": area_of,
}
