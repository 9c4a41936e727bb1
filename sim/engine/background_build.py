"""Background builds of cached results that are needed later."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["build_in_background"]


def build_in_background(*builds: Callable[[], Any]) -> None:
    """Start each build in a daemon thread; its result goes to the build cache.

    A later request for the same result waits for the thread. A failed build is silent here: the
    later request repeats it and raises the error.
    """
    for build in builds:
        threading.Thread(target=quietly, args=(build,), daemon=True).start()


def quietly(build: Callable[[], Any]) -> None:
    """Call `build` and suppress its exceptions."""
    with suppress(Exception):
        build()
