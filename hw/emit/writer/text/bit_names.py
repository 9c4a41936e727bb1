"""Names of bits of variables, and of constants that are compared with them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..nets.constants import number
from ..variables.names import Scope
from ..variables.naming import Naming
from ..variables.signals import NamedSignal
from ..variables.variables import Variable
from .texts import constant

__all__ = ["Alias", "BitNames"]


@dataclass(frozen=True)
class Alias:
    """Variable that stands for a value: bits of another one, or nets of any kind.

    Parameters
    ----------
    variable : Variable
    source : Variable or None
        Variable that has the bits.
    first, end : int
        Range of the bits in `source`.

    """

    variable: Variable
    source: Variable | None = None
    first: int = 0
    end: int = 0


class BitNames:
    """Names of bits that the source names: signals and fields that are parts of variables.

    A name becomes a variable when an expression first reads the bits.

    Parameters
    ----------
    signals : sequence of NamedSignal
    naming : Naming
    scope : Scope

    Attributes
    ----------
    aliases : list of Alias
        Variables in the order of their first use.
    parameters : dict of str to str
        Declaration of each constant by its name.

    """

    def __init__(self, signals: Sequence[NamedSignal], naming: Naming, scope: Scope):
        self.naming, self.homes, self.scope = naming, naming.homes, scope
        self.aliases: list[Alias] = []
        self.parameters: dict[str, str] = {}
        #: Name and signal, or variable, of bits of a variable, by its id and their range.
        self.known: dict[tuple[int, int, int], Any] = {}
        self.vectors: dict[tuple[int, ...], Variable] = {}
        for signal in signals:
            for first, end in signal.reads:
                self.learn(signal, first, end)

    def learn(self, signal: NamedSignal, first: int, end: int) -> None:
        """Remember the name of a signal, or of its field, for bits that the source reads."""
        is_whole = end - first == len(signal.nets)
        name = signal.name if is_whole else signal.fields.get((first, end), "")
        place = self.homes.run(signal.nets[first:end]) if name else None
        if place is None or end - first == place[0].width:
            return
        variable, bit = place
        if variable.signal in (None, signal) or not variable.signal.is_read(bit, bit + end - first):
            # Otherwise the source reads these bits by both names.
            self.known.setdefault((id(variable), bit, bit + end - first), (name, signal))

    def named(self, variable: Variable, first: int, end: int) -> tuple[Variable, int, int]:
        """Return a variable and its range for bits of `variable`: of a name, or these themselves.

        Bits inside a field of the variable's signal are bits of the field.
        """
        key = (id(variable), first, end)
        if key not in self.known:
            around = field_around(variable, first, end)
            if around is None:
                return variable, first, end
            start, stop, name = around
            key = (id(variable), start, stop)
            self.known.setdefault(key, (name, None))
        else:
            start = first
        alias = self.known[key]
        if not isinstance(alias, Variable):
            alias = self.known[key] = self.add_alias(variable, *key[1:], *alias)
        return alias, first - start, end - start

    def add_alias(
        self, source: Variable, first: int, end: int, name: str, signal: NamedSignal | None
    ) -> Variable:
        """Return a new variable for bits of another."""
        nets = source.nets[first - source.first : end - source.first]
        variable = Variable(self.scope.add(name), 0, end - first, nets, signal)
        source.mark(first, end)
        self.aliases.append(Alias(variable, source, first, end))
        return variable

    def vector(self, nets: Sequence[int]) -> Variable:
        """Return the variable with exactly these nets, a new one if there is none."""
        place = self.homes.run(nets) if nets[0] > 1 else None
        if place is not None and place[0].width == len(nets):
            return place[0]
        key = tuple(nets)
        if key not in self.vectors:
            signal = self.naming.exact.get(key)
            name = self.scope.add(signal.name if signal else "vector")
            self.vectors[key] = Variable(name, 0, len(nets), list(nets), signal)
            self.aliases.append(Alias(self.vectors[key]))
        return self.vectors[key]

    def value_name(self, nets: Sequence[int], bits: Sequence[int]) -> str | None:
        """Return the name of a constant in the enumeration of nets; None if it has none."""
        place = self.homes.run(nets) if len(nets) else None
        if place is None or place[0].signal is None:
            return None
        variable, bit = place
        enumeration = variable.signal.enumerations.get((bit, bit + len(nets)))
        value = number(bits)
        if enumeration is None or value not in enumeration.values:
            return None
        kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enumeration.name).upper()
        name = f"{kind}_{enumeration.values[value]}".lstrip("_")
        text = f"localparam [{len(bits) - 1}:0] {name} = {constant(bits)};"
        # Two enumerations may share a name: then the second has none.
        return name if self.parameters.setdefault(name, text) == text else None


def field_around(variable: Variable, first: int, end: int) -> tuple[int, int, str] | None:
    """Return the smallest field that contains bits of a variable, not all of its bits."""
    if variable.signal is None:
        return None
    best = None
    for (start, stop), name in variable.signal.fields.items():
        is_inside = variable.first <= start <= first and end <= stop <= variable.end
        is_part = is_inside and stop - start < variable.width
        if is_part and (best is None or stop - start < best[1] - best[0]):
            best = (start, stop, name)
    return best
