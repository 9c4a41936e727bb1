"""Execution of one piece of work: its record, or the reason of its refusal."""

from ...base.errors import UserError
from ..work.failure import one_line
from ..work.record import ERROR, REFUSED, Record
from ..work.source import source_key
from ..work.work import Work
from .steps import StepFile

__all__ = ["carried_out"]


def carried_out(work: Work, expected: str, steps: StepFile | None = None) -> Record:
    """Do a piece of work, also in another process or on another machine; return its record.

    An error of the installation or of its disk is raised as `UserError`: it concerns all points.

    Parameters
    ----------
    work : Work
        Piece of work.
    expected : str
        `source_key` of the process that stores the record.
    steps : StepFile or None
        Receiver of its steps.

    """
    if source_key() != expected:
        raise UserError(
            "a worker has another version of Spica or of its tools; install the same on all workers"
        )
    try:
        return work.record(steps)
    except UserError as error:
        if isinstance(error.__cause__, OSError):
            raise UserError(str(error)) from None
        return Record(status=REFUSED, reason=one_line(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise UserError(f"{place}{(error.strerror or str(error)).lower()}") from None
    except Exception as error:
        return Record(status=ERROR, reason=one_line(f"{type(error).__name__}: {error}"))
    finally:
        if steps is not None:
            steps.path.unlink(missing_ok=True)
