"""Spica: a generator of GPU clusters in RTL.

`Machine` runs kernels on the RTL of a preset; see ``docs/programming.md``. It is loaded on first
use, so that importing a part of the package stays fast.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api import Machine

__all__ = ["Machine"]


def __getattr__(name: str):
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
