"""Traces to look at: logs, and timelines for other people's viewers and our own."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ...kernels.program import Program
from .overview.chrome import overview_trace
from .overview.cluster_records import ClusterRecords
from .overview.overview_page import overview_page
from .overview.svg import overview_picture
from .pipeline.chrome import chrome_trace
from .pipeline.core_records import CoreRecords
from .pipeline.kanata import kanata_log
from .pipeline.naming import Names
from .pipeline.pipeline import pipeline_of
from .pipeline.retire import retire_log
from .pipeline.timeline_page import html_page

__all__ = ["OVERVIEW_SUFFIXES", "TRACE_SUFFIXES", "write_overview", "write_trace"]

WRITERS = {
    ".kanata": kanata_log,
    ".json": chrome_trace,
    ".html": html_page,
    ".log": retire_log,
}
#: What `write_trace` can write: a pipeline log for Konata, a timeline for Chrome and Perfetto, a
#: page that is its own viewer, and a line for each instruction that was done.
TRACE_SUFFIXES = tuple(WRITERS)
OVERVIEW_WRITERS = {".html": overview_page, ".json": overview_trace, ".svg": overview_picture}
#: What `write_overview` can write: a page that is its own viewer, a timeline for Perfetto, a
#: picture.
OVERVIEW_SUFFIXES = tuple(OVERVIEW_WRITERS)


def write_trace(
    path: Path | str,
    records: Sequence[CoreRecords],
    config: ClusterConfig,
    program: Program | None = None,
) -> list[str]:
    """Write what was recorded of each core, in the format that the suffix names.

    Return a sentence for each core of which not the whole window was kept.

    Parameters
    ----------
    path : path
        Ends in one of `TRACE_SUFFIXES`.
    records : sequence of CoreRecords
        As `CoreMachine.records` returns them.
    config : ClusterConfig
        Of the machine.
    program : Program or None
        Where functions and lines of source are looked up.

    """
    path = Path(path)
    require_suffix(path, TRACE_SUFFIXES)
    pipelines = [pipeline_of(core) for core in records]
    write(path, WRITERS[path.suffix](pipelines, config, Names(program)))
    return [pipeline.sentence for pipeline in pipelines if pipeline.sentence]


def write_overview(
    path: Path | str,
    records: ClusterRecords,
    config: ClusterConfig,
    title: str,
    marks: Mapping[str, int] | None = None,
) -> None:
    """Write what every engine of a cluster did over a whole run, in the format of the suffix.

    Parameters
    ----------
    path : path
        Ends in one of `OVERVIEW_SUFFIXES`.
    records : ClusterRecords
        Of the signals of `cluster_signals`.
    config : ClusterConfig
        Of the machine.
    title : str
        What ran.
    marks : mapping of str to int, or None
        Cycles that have a name.

    """
    path = Path(path)
    require_suffix(path, OVERVIEW_SUFFIXES)
    write(path, OVERVIEW_WRITERS[path.suffix](records, config, title, marks or {}))


def require_suffix(path: Path, known: Sequence[str]) -> None:
    """Raise unless a file's name has a suffix that is known."""
    if path.suffix not in known:
        raise UserError(f"a trace must end in one of {', '.join(known)}, not be {path.name}")


def write(path: Path, text: str) -> None:
    """Write a trace."""
    try:
        path.write_text(text)
    except OSError as error:
        raise UserError(f"the trace {path} must be writable: {error.strerror}") from error
