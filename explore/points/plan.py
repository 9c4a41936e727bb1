"""Plan of a sweep: a point for every preset and every combination of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...sim.run.exact_kernels import EXACT_KERNELS
from ...sim.run.request.energy import EVENTS, RunEnergy, require_cluster_run
from ...sim.run.request.request import Request
from ...sim.run.request.resolve import resolve
from ...sim.run.request.run_options import require_known_values
from ..work.analytic_run import predicted
from ..work.kernel_run import KernelRun, kernel_run
from .axes import Axis, combinations, on_machine, on_memory, require_known

__all__ = ["Plan", "Point", "planned"]


@dataclass(frozen=True, kw_only=True)
class Point:
    """Point of a sweep.

    Parameters
    ----------
    preset : str
        Name of the preset.
    settings : mapping of str to str
        Value of every field of the axes.
    run : KernelRun or None
        Run of the point; None if the combination is illegal.
    reason : str
        Reason of an illegal combination.

    """

    preset: str
    settings: Mapping[str, str]
    run: KernelRun | None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Points of a sweep in the order of its table.

    Parameters
    ----------
    axes : sequence of Axis
        Axes of the sweep.
    points : sequence of Point
        Preset by preset, and then in the order of `axes.combinations`.

    """

    axes: Sequence[Axis]
    points: Sequence[Point]

    @property
    def runs(self) -> list[KernelRun]:
        """Runs of the legal points."""
        return [point.run for point in self.points if point.run is not None]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Sizes of the kernel by dimension."""
        return next(point.run.sizes for point in self.points if point.run is not None)

    def require_legal(self):
        """Raise unless the plan has a legal point."""
        if all(point.run is None for point in self.points):
            reason = self.points[0].reason if self.points else "there is no machine"
            raise UserError(f"no point of the sweep is legal: {reason}")

    def require_energy(self):
        """Raise unless the energy of every run that has one can be computed from events."""
        for point in self.points:
            if point.run is not None and point.run.energy is not None:
                require_cluster_run(point.run.config, point.run.options, EVENTS)


def planned(
    request: Request,
    configs: Mapping[str, MachineConfig],
    axes: Sequence[Axis] = (),
    *,
    has_energy: bool = False,
    is_predicted: bool = False,
) -> Plan:
    """Return the plan of a sweep; an illegal combination is a point with its reason.

    Parameters
    ----------
    request : Request
        Run that is requested, of any machine.
    configs : mapping of str to MachineConfig
        Config of each machine by name.
    axes : sequence of Axis
        Axes of the sweep.
    has_energy : bool
        Whether the energy of every run is computed from events.
    is_predicted : bool
        Whether runs are predicted by the analytic model in place of a simulation.

    """
    require_known_values(request)
    require_known(axes, configs.values(), request.engine, has_dram=request.kernel in EXACT_KERNELS)
    if has_energy and is_predicted:
        raise UserError("--energy does not apply to --analytic, which predicts no counters")

    def run_of(preset: str, config: MachineConfig) -> KernelRun:
        run = resolve(replace(request, preset=preset, config=config, settings=()))
        work = kernel_run(run, RunEnergy(option=EVENTS) if has_energy else None)
        return predicted(work) if is_predicted else work

    def point(preset: str, config: MachineConfig, settings: dict[str, str]) -> Point:
        try:
            run = run_of(preset, on_machine(config, settings))
            run = replace(run, options=on_memory(run.options, settings))
        except (ValueError, UserError) as error:
            reason = " ".join(str(error).split())
            return Point(preset=preset, settings=settings, run=None, reason=reason)
        return Point(preset=preset, settings=settings, run=run)

    points = [
        point(preset, config, settings)
        for preset, config in configs.items()
        for settings in combinations(axes)
    ]
    return Plan(axes=axes, points=points)
