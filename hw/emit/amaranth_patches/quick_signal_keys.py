"""Patch: maps with signals as keys make one key for each signal.

Reason: Amaranth makes a new key at each access, also for each item of an iteration, and compares it
in Python: 4 % of an emission's time.
Upstream: not reported.
Removal: when `amaranth.hdl._ast.SignalDict` no longer makes a key at each access.
"""

from collections.abc import ItemsView, Iterator
from contextlib import AbstractContextManager
from typing import Any

from amaranth.hdl import _ast

from .replacement import Replacement, replaced

__all__ = ["quick_signal_keys"]

ast: Any = _ast  # no stub


def key_of(signal):
    """Return the key of a signal, made once, or a new one of a clock or reset signal."""
    if type(signal) is not ast.Signal:
        return ast.SignalKey(signal)
    try:
        return signal._known_key
    except AttributeError:
        signal._known_key = key = ast.SignalKey(signal)
        return key


class SignalItems(ItemsView):
    """Items of a map of signals, read without a look-up."""

    _mapping: Any

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for key, value in self._mapping._storage.items():
            yield None if key is None else key.signal, value


def items(self) -> SignalItems:
    """Return the view of the items of a map."""
    return SignalItems(self)


def contains(self, signal) -> bool:
    """Return whether a map has a signal, or None, as a key."""
    return (None if signal is None else key_of(signal)) in self._storage


REPLACED: tuple[Replacement, ...] = (
    (ast.SignalDict, "_map_key", staticmethod(key_of)),
    (ast.SignalDict, "__contains__", contains),
    (ast.SignalDict, "items", items),
    (ast.SignalSet, "_map_key", staticmethod(key_of)),
)


def quick_signal_keys() -> AbstractContextManager[None]:
    """Find signals in maps quickly; the contents and their order are the same."""
    return replaced(REPLACED)
