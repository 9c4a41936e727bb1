"""Netlists without the zeros that memories begin with, which Verilog does not get."""

import copy
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Private, and there is no public way to make a memory without initial contents.
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub

__all__ = ["blank_memories"]

_EMITTER: Any = rtlil.ModuleEmitter
_WHOLE = _EMITTER.emit_memory
#: Of each thread by itself: others may convert a design that keeps its zeros meanwhile.
_is_blank: ContextVar[bool] = ContextVar("blank_memories", default=False)


@contextmanager
def blank_memories():
    """Let memories that are all zeros begin with no bits: one net each is a fifth of an emission.

    What says so in RTLIL has to be dropped before anything else reads it
    (`verilog.without_blank_memories`).
    """
    before = _is_blank.set(True)
    try:
        yield
    finally:
        _is_blank.reset(before)


def _emit_memory(self, index, cell):
    if _is_blank.get() and not any(cell.init):
        cell = copy.copy(cell)
        cell.init = ()
    _WHOLE(self, index, cell)


_EMITTER.emit_memory = _emit_memory
