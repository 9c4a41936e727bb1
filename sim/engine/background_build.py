"""Background builds of cached results that are needed later."""

import atexit
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...base.tools import stop_tools

__all__ = ["build_in_background"]

#: Threads of builds that were started.
_BUILDS: list[threading.Thread] = []
#: Time in which builds end when the process does, in seconds.
END_SECONDS = 2.0


def build_in_background(*builds: Callable[[], Any]) -> None:
    """Start each build in a daemon thread; its result goes to the build cache.

    A later request for the same result waits for the thread. A failed build is silent here: the
    later request repeats it and raises the error. When the process ends before a build, the tools
    of the build are ended, so that it removes its folder.
    """
    for build in builds:
        thread = threading.Thread(target=quietly, args=(build,), daemon=True)
        thread.start()
        _BUILDS.append(thread)


def quietly(build: Callable[[], Any]) -> None:
    """Call `build` and suppress its exceptions."""
    with suppress(Exception):
        build()


@atexit.register
def end_builds() -> None:
    """End the tools of builds that still run, and wait until the builds have ended."""
    if any(build.is_alive() for build in _BUILDS):
        stop_tools(others=False)
    limit = time.monotonic() + END_SECONDS
    for build in _BUILDS:
        build.join(max(0.0, limit - time.monotonic()))
