"""Trace writers: logs, timelines for external viewers, and self-contained HTML pages."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...kernels.program import Program
from .overview.activity_records import ClusterRecords
from .overview.chrome import overview_trace
from .overview.overview_page import overview_page
from .overview.svg import overview_picture
from .pipeline.chrome import chrome_trace
from .pipeline.core_records import CoreRecords
from .pipeline.kanata import kanata_log
from .pipeline.naming import Names
from .pipeline.operands import operands_of
from .pipeline.pipeline import pipeline_of
from .pipeline.retire import retire_log
from .pipeline.timeline_page import html_page

__all__ = [
    "OVERVIEW_SUFFIXES",
    "TRACE_SUFFIXES",
    "write_difference",
    "write_overview",
    "write_trace",
]

WRITERS = {
    ".kanata": kanata_log,
    ".json": chrome_trace,
    ".html": html_page,
    ".log": retire_log,
}
#: Formats of `write_trace`: a pipeline log for Konata, a timeline for Chrome and Perfetto, an HTML
#: page with its own viewer, and a log with a line per completed instruction.
TRACE_SUFFIXES = tuple(WRITERS)
OVERVIEW_WRITERS = {".html": overview_page, ".json": overview_trace, ".svg": overview_picture}
#: Formats of `write_overview`: an HTML page with its own viewer, a timeline for Perfetto, a
#: picture.
OVERVIEW_SUFFIXES = tuple(OVERVIEW_WRITERS)


def write_trace(
    path: Path | str,
    records: Sequence[CoreRecords],
    config: MachineConfig,
    program: Program | None = None,
) -> list[str]:
    """Write the trace of all cores in the format of the path's suffix.

    Return a message for each core whose records do not cover the whole window.

    Parameters
    ----------
    path : path
        Trace file with one of `TRACE_SUFFIXES`.
    records : sequence of CoreRecords
        Records of each core, from `ProgramMachine.records`.
    config : MachineConfig
        Config of the machine.
    program : Program or None
        Source of function names and source lines.

    """
    path = Path(path)
    require_suffix(path, TRACE_SUFFIXES)
    pipelines = [pipeline_of(core) for core in records]
    write(path, WRITERS[path.suffix](pipelines, config, Names(program)))
    return [pipeline.sentence for pipeline in pipelines if pipeline.sentence]


def write_difference(
    path: Path,
    records: Sequence[CoreRecords],
    config: MachineConfig,
    program: Program,
    registers: Sequence[Mapping[int, np.ndarray]],
    first: int,
) -> None:
    """Write a log of the instructions that complete from cycle `first` on, with their operands.

    Parameters
    ----------
    path : Path
        Log file.
    records : sequence of CoreRecords
        Records of each core.
    config : MachineConfig
        Config of the machine.
    program : Program
        Source of function names and source lines.
    registers : sequence of mappings
        Of each core: registers of its warps at the first recorded cycle, (64, threads).
    first : int
        First cycle of the log.

    """
    names, pipelines = Names(program), [pipeline_of(core) for core in records]
    operands = [
        operands_of(pipeline, names, files)
        for pipeline, files in zip(pipelines, registers, strict=True)
    ]
    write(path, retire_log(pipelines, config, names, operands, first))


def write_overview(
    path: Path | str,
    records: ClusterRecords,
    config: MachineConfig,
    title: str,
    marks: Mapping[str, int] | None = None,
) -> None:
    """Write the timeline of all units of a cluster in the format of the path's suffix.

    Parameters
    ----------
    path : path
        Trace file with one of `OVERVIEW_SUFFIXES`.
    records : ClusterRecords
        Records of the signals of `cluster_signals`.
    config : MachineConfig
        Config of the machine.
    title : str
        Title of the timeline: what ran.
    marks : mapping of str to int, or None
        Named cycles.

    """
    path = Path(path)
    require_suffix(path, OVERVIEW_SUFFIXES)
    write(path, OVERVIEW_WRITERS[path.suffix](records, config, title, marks or {}))


def require_suffix(path: Path, known: Sequence[str]) -> None:
    """Raise `UserError` unless the path has a known suffix."""
    if path.suffix not in known:
        raise UserError(f"a trace file must end in {', '.join(known)}, not {path.name}")


def write(path: Path, text: str) -> None:
    """Write a trace."""
    try:
        path.write_text(text)
    except OSError as error:
        raise UserError(f"cannot write the trace {path}: {error.strerror}") from error
