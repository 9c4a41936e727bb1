"""States of the bytes of memory before a program runs, for the memory check."""

from ...kernels.guards import guards_of
from ...kernels.program import Program
from ..iss.memory_check import MemoryCheck
from ..machine.memory_layout import MemoryLayout
from ..machine.stacks import SYMBOL

__all__ = ["prepare_memory_check"]

#: Functions of the runtime that copy bytes one by one.
COPYING = ("memcpy", "memmove")


def prepare_memory_check(check: MemoryCheck, program: Program, layout: MemoryLayout) -> None:
    """Set the states of the bytes of a program that has just been loaded.

    Variables without a value are not written before the start-up code of the runtime clears them.
    A program with start-up code of its own relies on the loader, and has any stacks.
    """
    symbols = program.symbols
    if SYMBOL in symbols:
        check.check_stacks()
        check.mark_unwritten(symbols["__bss_start"], symbols["_end"] - symbols["__bss_start"])
    else:
        check.mark_written(layout.stacks.address, layout.stacks.nbytes)
    for guard in guards_of(symbols):
        if guard:
            check.guard(guard.start, len(guard))
    for function in program.functions:
        if function.start in program.runtime:
            code = range(function.start, function.end)
            if function.name in COPYING:
                check.allow_copying(code)
