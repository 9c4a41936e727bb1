"""Command line: commands, and the exit code and message of every error."""

import atexit
import gc
import importlib
import importlib.metadata
import os
import signal
import sys
import threading
from collections.abc import Sequence

from cyclopts import App, CycloptsError, UnusedCliTokensError

from ..base.errors import MachineError, UserError
from ..base.tools import stop_tools

__all__ = ["app", "main", "terminate"]

FAILED = 1  # the check fails, or the machine faults or hangs
BAD_INPUT = 2

#: Module and function of each command. A command is imported when it is used: to import all of
#: them takes longer than a small one.
COMMANDS = {
    "list": ("catalog", "list_all"),
    "doctor": ("doctor", "doctor"),
    "generate": ("generate", "generate"),
    "run": ("run", "run"),
    "resume": ("resume", "resume"),
    "compare": ("compare.command", "compare"),
    "sweep": ("sweep.command", "sweep"),
    "reproduce": ("reproduce", "reproduce"),
    "area": ("area.command", "area"),
    "fpga": ("fpga.command", "fpga"),
}

app = App(
    name="spica",
    help="Generate GPU clusters in RTL, run kernels on them, and measure their area.",
    version=lambda: importlib.metadata.version("spica"),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
for name, (module, function) in COMMANDS.items():
    app.command(f"{__package__}.{module}:{function}", name=name)


class Terminated(KeyboardInterrupt):
    """Signal SIGTERM: ends a build as an interrupt does, and removes its drafts."""


def terminate(*_):
    """End the tools and raise `Terminated`."""
    stop_tools()
    raise Terminated


def interrupt(*_):
    """End the tools and raise `KeyboardInterrupt`."""
    stop_tools()
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 pass, 1 fail, 2 bad input."""
    given = sys.argv[1:] if arguments is None else arguments
    mend_streams()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminate)
        signal.signal(signal.SIGINT, interrupt)
        # The last collection would free a netlist object by object: a tenth of an emission's time.
        atexit.register(gc.freeze)
    if not given or given[0] not in COMMANDS:
        import_commands()
    try:
        code = app(arguments, exit_on_error=False, print_error=False) or 0
        sys.stdout.flush()
        return code
    except UnusedCliTokensError as error:
        rest = " ".join(error.unused_tokens or ())
        what = f"spica {given[0]}" if given[0] in COMMANDS else "spica"
        return complain(f"{what} has no argument {rest}; leave it out", BAD_INPUT)
    except CycloptsError as error:
        return complain(" ".join(str(error).split()), BAD_INPUT)
    except UserError as error:
        return complain(str(error), BAD_INPUT)  # messages of compilers have several lines
    except MachineError as error:
        print(f"spica: {error}", file=sys.stderr)  # a report keeps its lines
        return FAILED
    except Terminated:
        return complain("terminated", 143)
    except KeyboardInterrupt:
        return complain("interrupted", 130)
    except (BrokenPipeError, SystemExit):  # the latter from `rich`
        # The reader closed the pipe: discard the buffered output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError:
        return complain("not enough memory for this run; choose a smaller size", BAD_INPUT)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return complain(f"{place}{(error.strerror or str(error)).lower()}", BAD_INPUT)
    except Exception as error:
        if os.environ.get("SPICA_DEBUG"):
            raise
        kind = type(error).__name__
        return complain(f"{kind}: {error} (set SPICA_DEBUG=1 for the traceback)", FAILED)


def mend_streams() -> None:
    """Let output streams write any text: none that is closed, and no character that stops one.

    Characters that the encoding of the output lacks become question marks.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (open as long as the process)
        elif getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="replace")


def import_commands() -> None:
    """Import all commands: a page of help has the first line of each."""
    for name, (module, function) in COMMANDS.items():
        del app[name]
        commands = importlib.import_module(f"{__package__}.{module}")
        app.command(getattr(commands, function), name=name)


def complain(sentence: str, code: int) -> int:
    """Print one sentence on standard error and return `code`."""
    print(f"spica: {sentence.strip()}", file=sys.stderr)
    return code
