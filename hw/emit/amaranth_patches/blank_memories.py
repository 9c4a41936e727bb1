"""Patch: a memory whose initial contents are all zero is converted without them.

Reason: Amaranth writes one net for each initial bit, a fifth of the time of an emission. Verilog
would get one line for each word, and no block relies on the contents after power-up.
Upstream: https://github.com/amaranth-lang/amaranth/issues/270 and
https://github.com/amaranth-lang/amaranth/issues/1522.
Removal: when `amaranth.lib.memory.Memory` can be built without initial contents.
"""

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub

__all__ = ["blank_memories"]


@contextmanager
def blank_memories() -> Iterator[None]:
    """Convert memories of zeros without initial contents, in this thread only.

    The empty initialisation that stays in the RTLIL must be dropped before another tool reads it
    (`verilog.without_blank_memories`).
    """
    emitter: Any = rtlil.ModuleEmitter
    whole = emitter.emit_memory
    owner = threading.get_ident()

    def emit_memory(self, index, cell):
        if threading.get_ident() == owner and not any(cell.init):
            cell = copy.copy(cell)
            cell.init = ()
        whole(self, index, cell)

    emitter.emit_memory = emit_memory
    try:
        yield
    finally:
        emitter.emit_memory = whole
