"""Tracks of the functions that the cores execute."""

from collections.abc import Iterator

from ....hw.config import MachineConfig
from ..palette import FUNCTION_COLOURS, PALETTE
from .activity_records import ClusterRecords
from .function_records import series_name
from .series import Series, Track

__all__ = ["function_tracks"]

#: Functions with a colour of their own: those with most instructions. All others share grey.
MOST_FUNCTIONS = len(FUNCTION_COLOURS)


def function_tracks(config: MachineConfig, records: ClusterRecords, cores: int) -> Iterator[Track]:
    """Yield a track for each of the first cores: completed instructions by function.

    None if functions are not recorded. Colours are the same on all cores.
    """
    prefix = series_name(0, "")
    names = [name.removeprefix(prefix) for name in records.sums if name.startswith(prefix)]
    if not names or config.core is None:
        return
    totals = {
        name: sum(records.total(series_name(core, name)) for core in range(config.all_cores))
        for name in names
    }
    order = sorted((name for name in names if totals[name]), key=lambda name: -totals[name])
    shown, rest = order[:MOST_FUNCTIONS], order[MOST_FUNCTIONS:]
    for core in range(cores):
        series = [
            Series(
                label=name,
                colour=colour,
                signals=(series_name(core, name),),
                meaning=f"completed instructions of {name}",
            )
            for name, colour in zip(shown, FUNCTION_COLOURS, strict=False)
        ]
        if rest:
            signals = tuple(series_name(core, name) for name in rest)
            label = f"{len(rest)} other functions"
            meaning = "completed instructions of functions with fewer of them"
            series.append(Series(label=label, colour=PALETTE[-1], signals=signals, meaning=meaning))
        most = max(config.core.issue_width, config.core.writeback_buses)
        yield Track(
            title=f"core {core} functions",
            manual="docs/measuring.md#timeline-of-a-run",
            most=most,
            series=tuple(series),
        )
