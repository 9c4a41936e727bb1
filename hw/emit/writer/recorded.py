"""Places of a netlist's signals in waveforms of the text that is written from it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .nets.prepared import PreparedNetlist
from .text.module import ModuleText
from .variables.names import plain
from .variables.variables import Variable

__all__ = ["Places", "places_of"]

nir: Any = _nir  # no stub
#: For each signal, by its path, the pieces from bit 0 on: path of a variable, its first bit, and
#: the width. A path without a name stands for constants, and for bits without a need.
Places = Mapping[str, tuple[tuple[str, int, int], ...]]


def recorded_bits(text: ModuleText) -> dict[int, tuple[Variable, int]]:
    """Return variable and bit of each net that waveforms have: of ports, registers, read data."""
    recorded: dict[int, tuple[Variable, int]] = {}
    variables = [*text.plan.ports, *text.naming.variables.values()]
    for variable in variables:
        if variable.port or variable.is_register or text.is_read_data(variable):
            for bit, net in enumerate(variable.nets):
                recorded.setdefault(net, (variable, bit))
    return recorded


def places_of(
    prepared: PreparedNetlist, index: int, text: ModuleText
) -> Iterator[tuple[str, tuple[tuple[str, int, int], ...]]]:
    """Yield the signals of a module whose live bits waveforms have, with their pieces.

    Parameters
    ----------
    prepared : PreparedNetlist
        Netlist.
    index : int
        Of the module.
    text : ModuleText
        Its text.

    """
    netlist = prepared.netlist
    recorded = recorded_bits(text)
    for signal, name in netlist.modules[index].signal_names.items():
        nets = prepared.value(netlist.signals[signal])
        bits = [recorded.get(net) for net in nets]
        others = [net for net, bit in zip(nets, bits, strict=True) if bit is None]
        if any(bits) and all(is_needless(prepared, net, index) for net in others):
            yield name, tuple(pieces(bits))


def is_needless(prepared: PreparedNetlist, net: int, index: int) -> bool:
    """Return whether a net is constant, is driven outside of a module, or nothing depends on it.

    A net from outside that the module has no variable of does not enter it.
    """
    if net < 2:
        return True
    node = prepared.nodes[net >> 16]
    module: int | None = node.module
    while module is not None and module != index:
        module = prepared.netlist.modules[module].parent
    is_live = node.kind in (nir.Top, nir.Instance) or node.first <= (net & 0xFFFF) < node.end
    return module is None or not is_live


def pieces(bits: Sequence[tuple[Variable, int] | None]) -> Iterable[tuple[str, int, int]]:
    """Yield runs of neighbouring bits of one variable."""
    begin = 0
    while begin < len(bits):
        first, end = bits[begin], begin + 1
        while end < len(bits):
            following = None if first is None else (first[0], first[1] + end - begin)
            if bits[end] != following:
                break
            end += 1
        yield (
            ("", 0, end - begin) if first is None else (plain(first[0].name), first[1], end - begin)
        )
        begin = end
