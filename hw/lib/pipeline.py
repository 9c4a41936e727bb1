"""Pipeline cuts: optional registers between the stages of a datapath."""

from typing import Any

from amaranth import *
from amaranth.hdl import ValueLike

__all__ = ["cut", "delayed"]


def cut(
    m: Module, stage: str, *, registered: bool, src_loc_at: int = 0, **values: ValueLike
) -> list[Value]:
    """Return signals that hold `values`, one cycle later if `registered`.

    The signals are named ``<stage>_<name>``; registers have no reset. Their source line is that of
    the call, or of one `src_loc_at` calls further out.
    """
    domain = m.d.sync if registered else m.d.comb
    passed: list[Value] = []
    for name, value in values.items():
        value = Value.cast(value)
        signal = Signal(
            value.shape(), name=f"{stage}_{name}", reset_less=True, src_loc_at=1 + src_loc_at
        )
        domain += signal.eq(value)
        passed.append(signal)
    return passed


def delayed(m: Module, cycles: int, **values: ValueLike) -> list[Any]:
    """Return signals that hold `values`, delayed by `cycles` cycles."""
    for cycle in range(cycles):
        passed = cut(m, f"delayed_{cycle + 1}", registered=True, src_loc_at=1, **values)
        values = dict(zip(values, passed, strict=True))
    return list(values.values())
