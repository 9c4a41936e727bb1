"""Patches of Amaranth: applied together, under one lock, while a design is converted.

`quick_simulation` is separate: it is applied while a design is simulated. Each module below holds
one patch with its reason, its upstream discussion and the condition under which it goes.
"""

import importlib.metadata
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from .known_shapes import known_shapes
from .quick_cycle_check import quick_cycle_check
from .quick_kinds import quick_kinds
from .quick_nets import quick_nets
from .quick_resolution import quick_resolution
from .quick_signal_keys import quick_signal_keys
from .quick_simulation import quick_simulation
from .unchecked_nets import unchecked_nets
from .unpacked_names import unpacked_names

__all__ = [
    "LOCK",
    "PATCHES",
    "known_shapes",
    "patched_amaranth",
    "quick_cycle_check",
    "quick_kinds",
    "quick_nets",
    "quick_resolution",
    "quick_signal_keys",
    "quick_simulation",
    "simulation_patch",
    "unchecked_nets",
    "unpacked_names",
]

Patch = Callable[[], AbstractContextManager[None]]

#: All patches that save time, in the order in which they are applied.
PATCHES: tuple[Patch, ...] = (
    unchecked_nets,
    quick_cycle_check,
    quick_resolution,
    quick_nets,
    quick_signal_keys,
    quick_kinds,
    known_shapes,
    unpacked_names,
)

#: Held while Amaranth is patched. A patch replaces attributes of Amaranth's classes for the whole
#: process, so two conversions that overlapped would restore each other's replacements. Conversions
#: are pure Python and would not run in parallel without the lock either.
LOCK = threading.RLock()

#: The patches replace private functions: other versions may have others.
FIRST_VERSION, END_VERSION = (0, 5, 10), (0, 6)

_depth = 0


@contextmanager
def patched_amaranth(*without: Patch) -> Iterator[None]:
    """Apply every patch but those in `without`, and restore Amaranth at the end.

    Other threads that enter wait until Amaranth is restored. A nested entry in the same thread
    keeps the patches of the outer one.

    Raises
    ------
    RuntimeError
        If the installed Amaranth is not a version that the patches were written for.

    """
    global _depth
    require_version(importlib.metadata.version("amaranth"))
    with LOCK, ExitStack() as stack:
        if not _depth:
            for patch in PATCHES:
                if patch not in without:
                    stack.enter_context(patch())
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1


@contextmanager
def simulation_patch() -> Iterator[None]:
    """Apply `quick_simulation` under the lock, and restore Amaranth at the end.

    Raises
    ------
    RuntimeError
        If the installed Amaranth is not a version that the patches were written for.

    """
    require_version(importlib.metadata.version("amaranth"))
    with LOCK, quick_simulation():
        yield


def require_version(version: str) -> None:
    """Raise unless the patches were written for `version` of Amaranth."""
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    if not FIRST_VERSION <= numbers < END_VERSION:
        first, end = (".".join(map(str, bound)) for bound in (FIRST_VERSION, END_VERSION))
        raise RuntimeError(
            f"Amaranth must be at least {first} and below {end} for emission, not {version}: "
            f"pip install 'amaranth ~= {first}'"
        )
