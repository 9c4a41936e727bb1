"""Replacement of attributes of Amaranth's classes and modules for a while."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Replacement", "replaced"]

#: Class or module, name of an attribute in it, and the new value.
Replacement = tuple[Any, str, Any]


@contextmanager
def replaced(replacements: Iterable[Replacement]) -> Iterator[None]:
    """Replace attributes, and restore them at the end; one that was inherited is removed again."""
    done: list[Replacement] = []
    inherited = object()
    try:
        for owner, name, new in replacements:
            done.append((owner, name, vars(owner).get(name, inherited)))
            setattr(owner, name, new)
        yield
    finally:
        for owner, name, old in reversed(done):
            if old is inherited:
                delattr(owner, name)
            else:
                setattr(owner, name, old)
