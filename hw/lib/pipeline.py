"""Pipeline cuts: optional registers between the stages of a datapath."""

from typing import Any

from amaranth import *
from amaranth.hdl import ValueLike

__all__ = ["cut", "delayed"]


def cut(m: Module, stage: str, *, registered: bool, **values: ValueLike) -> list[Value]:
    """Return signals that hold `values`, one cycle later if `registered`.

    The signals are named ``<stage>_<name>``; registers have no reset.
    """
    domain = m.d.sync if registered else m.d.comb
    passed: list[Value] = []
    for name, value in values.items():
        value = Value.cast(value)
        signal = Signal(value.shape(), name=f"{stage}_{name}", reset_less=True)
        domain += signal.eq(value)
        passed.append(signal)
    return passed


def delayed(m: Module, cycles: int, **values: ValueLike) -> list[Any]:
    """Return signals that hold `values`, delayed by `cycles` cycles."""
    for cycle in range(cycles):
        passed = cut(m, f"delayed_{cycle + 1}", registered=True, **values)
        values = dict(zip(values, passed, strict=True))
    return list(values.values())
