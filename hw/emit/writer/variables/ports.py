"""Ports of the modules below the top of a conversion."""

from collections.abc import Iterable, Mapping, Sequence

from .names import Scope
from .signals import NamedSignal
from .variables import Variable, runs

__all__ = ["nested_ports"]


def nested_ports(
    inputs: set[int],
    outputs: set[int],
    signals: Sequence[NamedSignal],
    clocks: Mapping[int, str],
    scope: Scope,
) -> list[Variable]:
    """Return ports of a module that have all nets that enter or leave it.

    Clocks and resets have the names that they have in the top, and come first. A signal becomes a
    port if all its bits cross the border; then fields of signals, and neighbouring bits of a
    signal, do. Nets without a signal become ports by themselves.
    """
    ports = [
        Variable(scope.add(name), 0, 1, [net], port="input")
        for net, name in clocks.items()
        if net in inputs
    ]
    order = sorted(signals, key=lambda one: (not one.is_own, one.read_count == 0, -len(one.nets)))
    numbers = {id(signal): number for number, signal in enumerate(signals)}
    for kind, nets in (("input", inputs - clocks.keys()), ("output", outputs)):
        missing = set(nets)
        named: list[tuple[int, int, Variable]] = []
        for signal in order:
            for first, end in crossing(signal, missing):
                whole = end - first == len(signal.nets)
                name = signal.name if whole else signal.fields.get((first, end), signal.name)
                keeps = name == signal.name
                port = Variable(
                    scope.add(name),
                    first if keeps else 0,
                    end if keeps else end - first,
                    signal.nets[first:end],
                    signal if keeps else None,
                    port=kind,
                )
                missing.difference_update(port.nets)
                named.append((numbers[id(signal)], first, port))
        ports += [port for *_, port in sorted(named, key=lambda one: one[:2])]
        for run in neighbours(missing):
            name = scope.add("data" if len(run) > 1 else "bit_value")
            ports.append(Variable(name, 0, len(run), run, port=kind))
    return ports


def crossing(signal: NamedSignal, missing: set[int]) -> list[tuple[int, int]]:
    """Return the ranges of a signal's bits that are missing: the whole, fields, or runs.

    Of equal bits of the signal only the first is in a range.
    """
    if missing.isdisjoint(signal.nets):
        return []
    nets = signal.nets
    firsts = {net: bit for bit, net in reversed([*enumerate(nets)])}
    here = [net in missing and firsts[net] == bit for bit, net in enumerate(nets)]
    if all(here):
        return [(0, len(nets))]
    ranges: list[tuple[int, int]] = []
    if here.count(True) < len(nets):
        for first, end in sorted(signal.fields, key=lambda one: one[0] - one[1]):
            free = not any(first < b and a < end for a, b in ranges)
            if free and end - first < len(nets) and all(here[first:end]):
                ranges.append((first, end))
    covered = {bit for first, end in ranges for bit in range(first, end)}
    bits = [bit for bit, is_here in enumerate(here) if is_here and bit not in covered]
    if not ranges or bits:
        ranges += runs(bits)
    return sorted(ranges)


def neighbours(nets: Iterable[int]) -> list[list[int]]:
    """Return runs of neighbouring nets."""
    return [list(range(first, end)) for first, end in runs(sorted(nets))]
