"""Machines that the tests of a module share."""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cache

import pytest

from spica.sim.harness.core_memory import CoreMemoryConfig

__all__ = ["AWFUL", "kept_machines"]

#: Memory of cores with late, split and shuffled answers, stalls and silence.
AWFUL = CoreMemoryConfig(
    latency=3, jitter=9, stall=0.3, silence=0.2, split=0.5, shuffle=True, seed=5
)


def kept_machines(create: Callable[..., AbstractContextManager]):
    """Return a fixture: a function like `create`, which keeps each machine for the module."""

    @pytest.fixture(scope="module")
    def machine_of():
        with ExitStack() as stack:
            yield cache(lambda *key: stack.enter_context(create(*key)))
        gc.collect()

    return machine_of
