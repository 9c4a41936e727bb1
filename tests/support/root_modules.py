"""Import of the repository's modules that are not installed: `bench` and `formal`."""

from importlib import import_module
from pathlib import Path

import pytest

__all__ = ["root_module"]

ROOT = Path(__file__).parents[2]


def root_module(name: str):
    """Return a module of a folder at the root; the import path stays as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        return import_module(name)
