"""Messages in Python: options, and unknown names, as Python writes them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from ..base.errors import MachineError, UserError
from ..sim.run.request.choices import UnknownNameError, flag_of
from ..sim.run.request.request import Request

__all__ = ["PYTHON_OPTIONS", "python_options"]

#: Options that messages of the lower rooms advise: on the command line, and in Python.
PYTHON_OPTIONS = {
    "--json FILE": "`diagnostics` of the exception",
    "--races ignore": 'races="ignore"',
    "--optimize 0": "optimize=0",
    "--dram-latency 100": "dram=spica.Dram()",
    "--dram-... or --memory-...": "dram=spica.Dram(...)",
    "--scheduler": "scheduler",
    "--jobs": "jobs",
    "--energy": "energy=True",
    "--analytic": "analytic=True",
}
#: Options of a run, which are parameters of the same name.
SAME = {
    flag_of(option.name): option.name
    for option in fields(Request)
    if flag_of(option.name).startswith("--")
}
NAMES = SAME | PYTHON_OPTIONS
#: Any of them, a longer one before its beginning.
PATTERN = re.compile(
    rf"(?<![\w-])({'|'.join(map(re.escape, sorted(NAMES, key=len, reverse=True)))})(?![\w-])"
)


@contextmanager
def python_options(**labels: str) -> Iterator[None]:
    """Name options in messages as in Python.

    Parameters
    ----------
    **labels : str
        Beginning of the message on an unknown name, by its kind.

    """
    try:
        yield
    except (MachineError, UserError) as error:
        error.args = (message_of(error, labels), *error.args[1:])
        raise


def message_of(error: MachineError | UserError, labels: dict[str, str]) -> str:
    """Return the message of an error with the names of Python."""
    if isinstance(error, UnknownNameError):
        kind = NAMES.get(error.kind, error.kind)
        label = labels.get(kind, f"{kind} must be one of")
        return f"{label} {', '.join(error.known)}, not {error.name!r}"
    return PATTERN.sub(lambda match: NAMES[match[0]], str(error))
