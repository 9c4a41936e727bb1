"""Selection of the cases of a snapshot, from the tables of presets and kernels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spica.base.errors import UserError
from spica.cli.catalog import ENGINES, kernel_names
from spica.hw.config import MachineConfig
from spica.hw.presets import PRESETS
from spica.sim.run.drivers import HOST_KERNEL
from spica.sim.run.options import MODEL
from spica.sim.run.request.choices import choose

from .cases import RTL, Case, PresetCase, RunCase
from .sizes import sizes_of

__all__ = ["Selection"]

#: Presets of a quick snapshot: those whose names begin like this.
QUICK = "tiny"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Selected cases of a snapshot.

    Parameters
    ----------
    presets, kernels : sequence of str
        Names; empty for all.
    engine : str
        Engine of the runs; on the instruction-set model there are no Verilog and no areas.
    has_area : bool
        Whether to measure areas.
    is_quick : bool
        Whether to leave out presets other than the tiny ones.

    """

    presets: Sequence[str] = ()
    kernels: Sequence[str] = ()
    engine: str = RTL
    has_area: bool = True
    is_quick: bool = False

    def __post_init__(self):
        choose("--engine", self.engine, ENGINES)
        for preset in self.presets:
            choose("preset", preset, PRESETS)
        for kernel in self.kernels:
            choose("kernel", kernel, kernel_names())

    def cases(self) -> list[Case]:
        """Return the cases, preset by preset from the smallest; all areas are last."""
        names = sorted(self.chosen_presets(), key=lambda name: size_of(PRESETS[name]))
        machines: list[dict[str, Any]] = [
            {"preset": name, "config": PRESETS[name]} for name in names
        ]
        has_rtl = self.engine != MODEL
        selected: list[Case] = []
        for machine in machines:
            selected += [PresetCase(part="config", **machine), *self.runs(**machine)]
            if has_rtl:
                selected.append(PresetCase(part="Verilog", **machine))
        if has_rtl and self.has_area:
            selected += [PresetCase(part="area", **machine) for machine in machines]
        return selected

    def chosen_presets(self) -> list[str]:
        """Return the names of the presets; raise `UserError` if there are none."""
        presets = dict.fromkeys(self.presets or PRESETS)
        names = [name for name in presets if not self.is_quick or name.startswith(QUICK)]
        if not names:
            raise UserError(
                f"--quick takes presets whose names begin with {QUICK}, not {', '.join(presets)}; "
                "leave it out"
            )
        return names

    def runs(self, preset: str, config: MachineConfig) -> Iterator[RunCase]:
        """Yield the runs of a preset; a host commands `HOST_KERNEL` too, if there are cores."""
        for kernel in dict.fromkeys(self.kernels or kernel_names()):
            drivers = [{}, {"driver": "host"}] if kernel == HOST_KERNEL and config.cores else [{}]
            for driver in drivers:
                for options in sizes_of(kernel):
                    yield RunCase(
                        preset=preset,
                        config=config,
                        kernel=kernel,
                        engine=self.engine,
                        options={**options, **driver},
                    )


def size_of(config: MachineConfig) -> int:
    """Return the lanes, warps and multipliers of a machine, by which its model grows."""
    core = config.core
    threads = 0 if core is None else config.cores * core.warps * core.threads
    return threads + sum(unit.macs for unit in config.units)
