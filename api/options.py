"""Options of the command line in messages, by their names in Python."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..hw.base.errors import MachineError, UserError

__all__ = ["PYTHON_OPTIONS", "python_options"]

#: Options that messages of the lower rooms advise: on the command line, and in Python.
PYTHON_OPTIONS = {
    "--json FILE": "`diagnostics` of the exception",
    "--races ignore": 'races="ignore"',
    "--optimize 0": "optimize=0",
    "--dram-latency 100": "dram=spica.Dram()",
    "--dram-... or --memory-...": "dram=spica.Dram(...)",
    "--scheduler": "scheduler",
}


@contextmanager
def python_options() -> Iterator[None]:
    """Name options in messages as in Python."""
    try:
        yield
    except (MachineError, UserError) as error:
        text = str(error)
        for option, name in PYTHON_OPTIONS.items():
            text = text.replace(option, name)
        error.args = (text, *error.args[1:])
        raise
