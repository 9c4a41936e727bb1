"""Spica: a generator of GPU clusters in RTL.

`Machine` runs kernels on the RTL of a preset, `sweep` on many machines; see
``docs/programming.md`` and ``docs/sweeps.md``. They are loaded on first use, so that importing a
part of the package stays fast.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api import Machine, sweep

__all__ = ["Machine", "sweep"]


def __getattr__(name: str):
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
