"""Chart of the areas of several machines: totals, and groups side by side."""

from collections.abc import Mapping, Sequence

from ...synth.groups import GROUPS
from .bars import Bar, Bars, stacked_charts

__all__ = ["area_chart"]


def area_chart(title: str, unit: str, machines: Sequence[tuple[str, Mapping[str, float]]]):
    """Return the chart.

    Parameters
    ----------
    title, unit : str
        Title of the chart, and unit of its areas.
    machines : sequence of tuple
        Name of each machine, and the area of each of its groups.

    """
    names = [name for name, _ in machines]
    present = {group for _, areas in machines for group in areas}
    groups = [group for group in GROUPS if group in present] + sorted(present - GROUPS.keys())
    totals = [
        Bar(label=name, side=name, value=total, text=f"{total:,.0f}")
        for name, areas in machines
        for total in (sum(areas.values()),)
    ]
    parts = [
        Bar(label=group, side=name, value=areas[group], text=f"{areas[group]:,.0f}")
        for group in groups
        for name, areas in machines
        if group in areas
    ]
    whole = Bars(title=f"total, {unit}", sides=names, bars=totals)
    return stacked_charts(title, [whole, Bars(title="by group", sides=names, bars=parts)])
