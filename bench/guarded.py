"""Course of a command line of a benchmark that an interrupt leaves to be continued."""

import signal
import sys
import threading
from collections.abc import Callable

from spica.base.errors import UserError
from spica.cli.main import terminate

__all__ = ["guarded"]

BAD_INPUT, INTERRUPTED = 2, 130


def guarded(name: str, carry_out: Callable[[], int]) -> int:
    """Carry a command out; return its exit code, after bad input 2 and after an interrupt 130.

    SIGTERM interrupts as Ctrl-C does. `name` begins the messages.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminate)
    try:
        return carry_out()
    except UserError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{name}: interrupted; the same command continues", file=sys.stderr)
        return INTERRUPTED
