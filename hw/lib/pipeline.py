"""Pipeline cuts: optional registers between the stages of a datapath."""

from collections.abc import Mapping
from typing import Any

from amaranth import *
from amaranth.hdl import ValueLike

__all__ = ["cut", "delayed"]


def cut(m: Module, stage: str, *, registered: bool, **values: ValueLike) -> list[Value]:
    """Return signals that hold `values`, one cycle later if `registered`.

    The signals are named ``<stage>_<name>``; registers have no reset. Their source line is that of
    the call.
    """
    return held(m.d.sync if registered else m.d.comb, stage, values)


def delayed(m: Module, cycles: int, **values: ValueLike) -> list[Any]:
    """Return signals that hold `values`, delayed by `cycles` cycles."""
    for cycle in range(cycles):
        passed = held(m.d.sync, f"delayed_{cycle + 1}", values)
        values = dict(zip(values, passed, strict=True))
    return list(values.values())


def held(domain: Any, stage: str, values: Mapping[str, ValueLike]) -> list[Value]:
    """Return signals that a domain assigns `values` to; their source line is the caller's call."""
    passed: list[Value] = []
    for name, value in values.items():
        value = Value.cast(value)
        signal = Signal(value.shape(), name=f"{stage}_{name}", reset_less=True, src_loc_at=2)
        domain += signal.eq(value)
        passed.append(signal)
    return passed
