"""Plan of a sweep: a point for every preset and every combination of values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...hw.base.errors import UserError
from ...hw.config import MachineConfig
from ..energy.requirements import require_cluster_run
from ..work.kernel_run import KernelRun
from .axes import Axis, combinations, on_machine, on_memory

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

    def require_energy(self, option: str):
        """Raise unless the energy of every run can be computed from events, as `option` asks."""
        for point in self.points:
            if point.run is not None and point.run.energy is not None:
                require_cluster_run(point.run.config, point.run.options, option)


def planned(
    configs: Mapping[str, MachineConfig],
    axes: Sequence[Axis],
    run_of: Callable[[str, MachineConfig], KernelRun],
) -> Plan:
    """Return the plan of a sweep.

    Parameters
    ----------
    configs : mapping of str to MachineConfig
        Config of each preset by name.
    axes : sequence of Axis
        Axes, checked by `axes.require_known`.
    run_of : callable
        Returns the run of a preset with a changed config; raises `UserError` if there is none.

    """

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
