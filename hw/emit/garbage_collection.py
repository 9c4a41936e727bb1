"""Garbage collection while a design is converted."""

import gc
from contextlib import contextmanager

__all__ = ["no_garbage_collection"]


@contextmanager
def no_garbage_collection():
    """Suspend the garbage collector: a netlist is millions of live objects.

    They become old objects: to look through them at the next collection of young ones would take
    a tenth of an emission. Only if the caller has frozen objects they stay young, because old ones
    are made by a thaw.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()
