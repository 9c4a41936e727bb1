"""Garbage collection while a design is converted."""

import gc
from contextlib import contextmanager

__all__ = ["no_garbage_collection"]


@contextmanager
def no_garbage_collection():
    """Suspend the garbage collector: a netlist is millions of live objects.

    They become old objects: to look through them at the next collection of young ones would take
    a tenth of an emission.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        if enabled:
            gc.enable()
