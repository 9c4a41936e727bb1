"""Machines that the tests of a module share."""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cache

import pytest

__all__ = ["kept_machines"]


def kept_machines(create: Callable[..., AbstractContextManager]):
    """Return a fixture: a function like `create`, which keeps each machine for the module."""

    @pytest.fixture(scope="module")
    def machine_of():
        with ExitStack() as stack:
            yield cache(lambda *key: stack.enter_context(create(*key)))
        gc.collect()

    return machine_of
