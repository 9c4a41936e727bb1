"""Traces of a core, to look at: logs, and timelines for other people's viewers and our own."""

from collections.abc import Sequence
from pathlib import Path

from ...hw.config import ClusterConfig
from ...hw.errors import UserError
from ...kernels.program import Program
from ..core_records import CoreRecords
from .chrome import chrome_trace
from .html import html_page
from .kanata import kanata_log
from .naming import Names
from .pipeline import pipeline_of
from .retire import retire_log

__all__ = ["TRACE_SUFFIXES", "write_trace"]

WRITERS = {
    ".kanata": kanata_log,
    ".json": chrome_trace,
    ".html": html_page,
    ".log": retire_log,
}
#: What `write_trace` can write: a pipeline log for Konata, a timeline for Chrome and Perfetto, a
#: page that is its own viewer, and a line for each instruction that was done.
TRACE_SUFFIXES = tuple(WRITERS)


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
    writer = WRITERS.get(path.suffix)
    if writer is None:
        known = ", ".join(TRACE_SUFFIXES)
        raise UserError(f"a trace must end in one of {known}, not be {path.name}")
    pipelines = [pipeline_of(core) for core in records]
    text = writer(pipelines, config, Names(program))
    try:
        path.write_text(text)
    except OSError as error:
        raise UserError(f"the trace {path} must be writable: {error.strerror}") from error
    return [pipeline.sentence for pipeline in pipelines if pipeline.sentence]
