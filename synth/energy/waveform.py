"""Recorded values of a block from a waveform of the RTL, a VCD file."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hw.base.errors import UserError

__all__ = ["Waveform", "read_waveform"]

VARIABLE = re.compile(r"\$var\s+\w+\s+(\d+)\s+(\S+)\s+(\S+)")


@dataclass(frozen=True, kw_only=True)
class Waveform:
    """Values of the signals of a block.

    Parameters
    ----------
    first : int
        First recorded cycle.
    signals : dict of str to array of bool
        A row per bit, least significant first, and a column per cycle.
    clocked : array of bool
        For each cycle, whether the block has a clock edge at its end.

    """

    first: int
    signals: dict[str, NDArray[np.bool_]]
    clocked: NDArray[np.bool_]


def read_waveform(
    lines: Iterable[str], scope: str, names: Collection[str], clock: str | None = "clk"
) -> Waveform:
    """Return the values of signals of a block in each recorded cycle.

    Parameters
    ----------
    lines : iterable of str
        Lines of the file. At time 2n are the values of cycle n before its clock edge, as the
        Verilator engine writes them, and at time 2n + 1 those after it.
    scope : str
        Path of the block's instance, with dots.
    names : collection of str
        Signals to read, by their path below the instance; those that the file lacks are left out.
    clock : str or None
        Clock of the block, which is 1 at time 2n + 1 if it has an edge; None for a block without
        registers, which counts as clocked in every cycle.

    """
    lines = iter(lines)
    variables = dict(variables_of(lines, scope, {*names, *([clock] if clock else ())}))
    clocks = [code for code, (_, found) in variables.items() if clock in found]
    if clock and not clocks:
        raise UserError(f"the waveform must have a clock {scope}.{clock}")
    cycles: list[int] = []
    edges: list[bool] = []
    history: dict[str, list[int]] = {code: [] for code in variables}
    for time, values in times_of(lines, variables):
        if time % 2 == 0:
            cycles.append(time // 2)
            edges.append(not clocks)
            for code, value in values.items():
                history[code].append(value)
        elif edges and clocks:
            edges[-1] = bool(values[clocks[0]])
    if not cycles or cycles != list(range(cycles[0], cycles[0] + len(cycles))):
        raise UserError("the waveform must have every cycle of its window, and one or more")
    signals = {}
    for code, (width, found) in variables.items():
        signals |= dict.fromkeys(found, bits_of(history[code], width))
    return Waveform(first=cycles[0], signals=signals, clocked=np.array(edges, bool))


def times_of(lines: Iterator[str], codes: Collection[str]) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield each time of a file's body with the values of variables then; unknown bits are 0."""
    values = dict.fromkeys(codes, 0)
    time = None
    for line in lines:
        kind, rest = line[:1], line[1:].strip()
        if kind == "#":
            if time is not None:
                yield time, values
            time = int(rest)
        elif kind in ("b", "B"):
            text, _, code = rest.partition(" ")
            if code in values:
                values[code] = int(re.sub("[xzXZ]", "0", text), 2)
        elif rest in values and kind in tuple("01xzXZ"):
            values[rest] = int(kind == "1")
    if time is not None:
        yield time, values


def variables_of(
    lines: Iterator[str], scope: str, names: Collection[str]
) -> Iterator[tuple[str, tuple[int, list[str]]]]:
    """Yield code, width and names of the wanted signals in a file's head."""
    found: dict[str, tuple[int, list[str]]] = {}
    path: list[str] = []
    for line in lines:
        words = line.split()
        if words[:1] == ["$scope"]:
            path.append(words[2])
        elif words[:1] == ["$upscope"]:
            path.pop()
        elif words[:1] == ["$enddefinitions"]:
            break
        elif variable := VARIABLE.match(line.strip()):
            below = ".".join([*path, variable[3]])
            name = below.removeprefix(f"{scope}.")
            if name != below and name in names:
                found.setdefault(variable[2], (int(variable[1]), []))[1].append(name)
    yield from found.items()


def bits_of(values: list[int], width: int) -> NDArray[np.bool_]:
    """Return values as bits, a row for each bit and a column for each value."""
    size = -(-width // 8)
    data = b"".join(value.to_bytes(size, "little") for value in values)
    table = np.frombuffer(data, np.uint8).reshape(len(values), size)
    return np.unpackbits(table, axis=1, bitorder="little", count=width).T.astype(bool)
