"""Build what will be wanted, while something else is being built."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["build_ahead"]


def build_ahead(*builds: Callable[[], Any]) -> None:
    """Begin to build things that the cache keeps; who wants one waits for it.

    A build that fails says nothing here: whoever wants its result tries again, and is told.
    """
    for build in builds:
        threading.Thread(target=quietly, args=(build,), daemon=True).start()


def quietly(build: Callable[[], Any]) -> None:
    """Call `build` without its errors."""
    with suppress(Exception):
        build()
