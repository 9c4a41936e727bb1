"""Spica: a generator of GPU clusters in RTL.

`Machine` runs kernels on the RTL of a preset, `sweep` on many machines, `compare` on several side
by side; see ``docs/programming.md``, ``docs/sweeps.md`` and ``docs/comparing.md``. They are loaded
on first use, so that importing a part of the package stays fast.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api import Attention, Comparison, Dram, Machine, Run, Unwritten, compare, sweep

__all__ = ["Attention", "Comparison", "Dram", "Machine", "Run", "Unwritten", "compare", "sweep"]


def __getattr__(name: str):
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
