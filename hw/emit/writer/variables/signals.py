"""Signals of a module and their fields, as names of nets."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

# Private, and there is no public form of the format of a signal.
from amaranth.hdl import _ast

from ..nets.built import BuiltNetlist
from ..nets.prepared import PreparedNetlist
from .names import identifier

__all__ = ["Enumeration", "NamedSignal", "signals_of"]

ast: Any = _ast  # no stub


@dataclass(frozen=True)
class Enumeration:
    """Names of the values of an enumeration."""

    name: str
    values: dict[int, str]


@dataclass(eq=False)
class NamedSignal:
    """Signal that a module names.

    Parameters
    ----------
    name : str
        Its name in the module, not yet distinct.
    nets : list of int
    signal : Signal
    reads : Counter
        Reads of its bits by the logic of the module.
    is_own : bool
        Whether no module below has it.

    """

    name: str
    nets: list[int]
    signal: Any
    reads: Counter[tuple[int, int]] = field(default_factory=Counter)
    is_own: bool = True

    @cached_property
    def read_count(self) -> int:
        """Number of reads of any of its bits."""
        return sum(self.reads.values())

    def is_read(self, first: int, end: int) -> bool:
        """Return whether the logic of the module reads any of some bits by this signal."""
        return any(start < end and first < stop for start, stop in self.reads)

    @cached_property
    def fields(self) -> dict[tuple[int, int], str]:
        """Names of its fields, by their bits; of fields with the same bits, the innermost."""
        return {
            (start, start + width): identifier(self.name, *path)
            for path, start, width, _ in fields_of(self.signal._format, ())
        }

    @cached_property
    def enumerations(self) -> dict[tuple[int, int], Enumeration]:
        """Enumerations of the signal and its fields, by their bits."""
        return {
            (start, start + width): enumeration
            for _, start, width, enumeration in fields_of(self.signal._format, ())
            if enumeration is not None
        }


def fields_of(form: Any, path: tuple) -> Iterator[tuple[tuple, int, int, Enumeration | None]]:
    """Yield path, first bit, width and enumeration of a format's field and those in it."""
    formats = ast.Format
    enumeration = None
    if isinstance(form, formats.Enum):
        enumeration = Enumeration(form._name or "", form._variants)
    elif isinstance(form, formats.Struct):
        for name, part in form._fields.items():
            yield from fields_of(part, (*path, name))
    elif isinstance(form, formats.Array):
        for number, part in enumerate(form._fields):
            yield from fields_of(part, (*path, number))
    value: Any = form._chunks[0][0] if isinstance(form, formats) and form._chunks else None
    value = getattr(form, "_value", value)
    start = first_bit(value)
    if start is not None and len(value) and (path or enumeration):
        yield path, start, len(value), enumeration


def first_bit(value: Any) -> int | None:
    """Return the first bit of a slice of a signal; None for other values."""
    start = 0
    while not isinstance(value, ast.Signal):
        if isinstance(value, ast.Slice):
            start += value.start
            value = value.value
        elif isinstance(value, ast.Operator) and value.operator in ("u", "s"):
            value = value.operands[0]
        else:
            return None
    return start


def signals_of(built: BuiltNetlist, prepared: PreparedNetlist, index: int) -> list[NamedSignal]:
    """Return the signals of a module in the order of their first use."""
    netlist = built.netlist
    module, reads = netlist.modules[index], built.reads.get(index, {})
    below: dict[int, str] = {}
    for child in module.submodules:
        place = netlist.modules[child].name[-1]
        for signal in netlist.modules[child].signal_names:
            below.setdefault(id(signal), place)
    named = []
    for signal in module.signal_names:
        if not len(signal):
            continue
        place = below.get(id(signal))
        named.append(
            NamedSignal(
                identifier(signal.name) if place is None else identifier(place, signal.name),
                prepared.value(netlist.signals[signal]),
                signal,
                reads.get(id(signal), Counter()),
                place is None,
            )
        )
    return named
