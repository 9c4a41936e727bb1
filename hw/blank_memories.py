"""Netlists without the zeros that memories begin with, which Verilog does not get."""

import copy
from contextlib import contextmanager
from typing import Any

# Private, and there is no public way to make a memory without initial contents.
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub

__all__ = ["blank_memories"]


@contextmanager
def blank_memories():
    """Let memories that are all zeros begin with no bits: one net each is a fifth of an emission.

    What says so in RTLIL has to be dropped before anything else reads it
    (`verilog.without_blank_memories`).
    """
    emitter: Any = rtlil.ModuleEmitter
    whole = emitter.emit_memory

    def emit_memory(self, index, cell):
        if not any(cell.init):
            cell = copy.copy(cell)
            cell.init = ()
        whole(self, index, cell)

    emitter.emit_memory = emit_memory
    try:
        yield
    finally:
        emitter.emit_memory = whole
