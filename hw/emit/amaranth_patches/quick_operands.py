"""Patch: the operands of RTLIL cells are written with less work for each net.

Reason: Amaranth compares a new pair and reads two properties for each net: 5 % of an emission's
time.
Upstream: not reported.
Removal: when `amaranth.back.rtlil.ModuleEmitter.sigspec` is no longer among the slowest functions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub
from amaranth.hdl import _nir

__all__ = ["quick_operands"]


def chunks_of(nets: list[int], places: dict[Any, tuple[Any, int]]) -> Iterator[str]:
    """Yield the runs of constants and of neighbouring bits of one wire, from bit 0 on."""
    begin, count = 0, len(nets)
    while begin < count:
        end = begin + 1
        if 0 <= nets[begin] < 2:
            while end < count and 0 <= nets[end] < 2:
                end += 1
            digits = "".join("1" if net else "0" for net in reversed(nets[begin:end]))
            yield f"{end - begin}'{digits}"
        else:
            wire, first = places[nets[begin]]
            while end < count and not 0 <= nets[end] < 2:
                other, bit = places[nets[end]]
                if other is not wire or bit != first + end - begin:
                    break
                end += 1
            last = first + end - begin - 1
            yield f"{wire.name} [{first}]" if last == first else f"{wire.name} [{last}:{first}]"
        begin = end


def sigspec(self, *parts) -> str:
    """Return the text of an operand that consists of nets and values, from bit 0 on."""
    nets: list[int] = []
    for part in parts:
        if isinstance(part, _nir.Net):
            nets.append(part)
        else:
            nets.extend(part)
    chunks = list(chunks_of(nets, self.nets))
    return chunks[0] if len(chunks) == 1 else "{ " + " ".join(reversed(chunks)) + " }"


@contextmanager
def quick_operands() -> Iterator[None]:
    """Write operands quickly; the text is the same."""
    emitter: Any = rtlil.ModuleEmitter
    exact, emitter.sigspec = emitter.sigspec, sigspec
    try:
        yield
    finally:
        emitter.sigspec = exact
