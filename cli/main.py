"""The command line as a whole: parse, call, and turn errors into sentences and exit codes."""

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from ..hw.base.errors import MachineError, UserError
from . import area, catalog, doctor, fpga, generate, resume, run

__all__ = ["app", "main"]

FAIL = 1  # the machine computed a wrong value, faulted or hung
BAD_INPUT = 2

app = App(
    name="spica",
    help="Generate GPU clusters in RTL, run kernels on them, and measure what they cost.",
    version=catalog.version,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
app.command(catalog.list_all, name="list")
app.command(doctor.doctor)
app.command(generate.generate)
app.command(run.run)
app.command(resume.resume)
app.command(area.area)
app.command(fpga.fpga)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 right, 1 a wrong machine, 2 bad input."""
    try:
        code = app(arguments, exit_on_error=False, print_error=False) or 0
        sys.stdout.flush()
        return code
    except CycloptsError as error:
        return complain(" ".join(str(error).split()), BAD_INPUT)
    except UserError as error:
        return complain(str(error), BAD_INPUT)  # what a compiler says has lines
    except MachineError as error:
        print(f"spica: {error}", file=sys.stderr)  # a report of several lines stays one
        return FAIL
    except KeyboardInterrupt:
        return complain("interrupted", 130)
    except BrokenPipeError:
        # The reader of a pipe left; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError:
        return complain("there is not enough memory for this; choose a smaller size", BAD_INPUT)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return complain(f"{place}{(error.strerror or str(error)).lower()}", BAD_INPUT)
    except Exception as error:
        if os.environ.get("SPICA_DEBUG"):
            raise
        kind = type(error).__name__
        return complain(f"{kind}: {error} (SPICA_DEBUG=1 shows where)", FAIL)


def complain(sentence: str, code: int) -> int:
    """Print one sentence on standard error and return `code`."""
    print(f"spica: {sentence.strip()}", file=sys.stderr)
    return code
