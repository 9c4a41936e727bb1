"""Recorded values of blocks from a waveform of the RTL, a VCD file."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...hw.base.errors import UserError

__all__ = ["Recorded", "Waveform", "clock_ports", "design_scope", "read_waveforms"]

VARIABLE = re.compile(r"\$var\s+\w+\s+(\d+)\s+(\S+)\s+(\S+)")
#: Scopes down to the design: root, wrapper, design.
DESIGN_LEVEL = 3
UNKNOWN = str.maketrans("xzXZ", "0000")


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Signals of a block to read.

    Parameters
    ----------
    names : collection of str
        Signals, by their path below the block's instance; those that the file lacks are left out.
    clock : str or None
        Clock of the block; None for a block without registers, which counts as clocked in every
        cycle.

    """

    names: Collection[str]
    clock: str | None


@dataclass(frozen=True, kw_only=True)
class Waveform:
    """Values of the signals of a block.

    Parameters
    ----------
    cycles : array of int
        Recorded cycles, ascending.
    signals : dict of str to array of bool
        A row per bit, least significant first, and a column per recorded cycle.
    clocked : array of bool
        For each recorded cycle, whether the block has a clock edge at its end.

    """

    cycles: NDArray[np.int64]
    signals: dict[str, NDArray[np.bool_]]
    clocked: NDArray[np.bool_]

    @property
    def windows(self) -> list[range]:
        """Columns of each window for `replay`: successive cycles without the first."""
        gaps = np.flatnonzero(np.diff(self.cycles) != 1) + 1
        bounds = [0, *gaps.tolist(), len(self.cycles)]
        found = (range(a + 1, b) for a, b in pairwise(bounds))
        return [window for window in found if window]


@dataclass(kw_only=True)
class Variable:
    """Variable of the file: its names by scope, and the column and value of each change."""

    width: int
    names: list[tuple[str, str]] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    edges: list[int] | None = None


def design_scope(lines: Iterable[str]) -> str:
    """Return the path of the design in a waveform of the Verilator engine, below its wrapper."""
    path: list[str] = []
    for line in lines:
        words = line.split()
        if words[:1] == ["$scope"]:
            path.append(words[2])
        if len(path) == DESIGN_LEVEL:
            return ".".join(path)
    raise UserError("the waveform must have a design below the wrapper of the Verilator engine")


def clock_ports(lines: Iterable[str], clock: str = "clk") -> dict[str, str]:
    """Return the clock port of the design that drives each scope with a clock, by the scope's path.

    Parameters
    ----------
    lines : iterable of str
        Lines of the file.
    clock : str
        Name of the clock in every block, and the end of the names of the design's clock ports.

    """
    ports: dict[str, str] = {}
    found: dict[str, str] = {}
    path: list[str] = []
    for line in lines:
        words = line.split()
        if words[:1] == ["$scope"]:
            path.append(words[2])
        elif words[:1] == ["$upscope"]:
            path.pop()
        elif words[:1] == ["$enddefinitions"]:
            break
        elif words[:1] == ["$var"] and words[4].endswith(clock):
            if len(path) == 1:
                ports[words[3]] = words[4]
            elif words[4] == clock and words[3] in ports:
                found[".".join(path)] = ports[words[3]]
    return found


def read_waveforms(lines: Iterable[str], blocks: Mapping[str, Recorded]) -> dict[str, Waveform]:
    """Return the values of signals of blocks in each recorded cycle.

    Parameters
    ----------
    lines : iterable of str
        Lines of the file. At time 2n are the values of cycle n before its clock edge, as the
        Verilator engine writes them, and at time 2n + 1 those after it, where the clock of a block
        with an edge is 1.
    blocks : mapping of str to Recorded
        Signals of each block by the path of its instance, with dots.

    """
    lines = iter(lines)
    variables = variables_of(lines, blocks)
    cycles = read_changes(lines, variables)
    if not cycles or any(later <= earlier for earlier, later in pairwise(cycles)):
        raise UserError("the waveform must have one cycle or more, in ascending order")
    found = {
        path: Waveform(
            cycles=np.array(cycles), signals={}, clocked=np.full(len(cycles), block.clock is None)
        )
        for path, block in blocks.items()
    }
    clocks = set()
    for variable in variables.values():
        bits = bits_of(variable, len(cycles))
        for path, name in variable.names:
            if name == blocks[path].clock:
                clocks.add(path)
                found[path].clocked[variable.edges] = True
            found[path].signals[name] = bits
    for path, block in blocks.items():
        if block.clock is not None and path not in clocks:
            raise UserError(f"the waveform must have a clock {path}.{block.clock}")
    return found


def variables_of(lines: Iterator[str], blocks: Mapping[str, Recorded]) -> dict[str, Variable]:
    """Return the wanted variables in a file's head by their codes."""
    found: dict[str, Variable] = {}
    path: list[str] = []
    owners: list[list[tuple[str, str]]] = [[]]  # blocks around the scope, and the path below each
    for line in lines:
        words = line.split()
        if words[:1] == ["$scope"]:
            path.append(words[2])
            above = [(block, f"{below}{words[2]}.") for block, below in owners[-1]]
            own = ".".join(path)
            owners.append([*above, (own, "")] if own in blocks else above)
        elif words[:1] == ["$upscope"]:
            path.pop()
            owners.pop()
        elif words[:1] == ["$enddefinitions"]:
            break
        elif owners[-1] and (declared := VARIABLE.match(line.strip())):
            width, code, signal = int(declared[1]), declared[2], declared[3]
            for block, below in owners[-1]:
                name, wanted = below + signal, blocks[block]
                if name in wanted.names or name == wanted.clock:
                    variable = found.setdefault(code, Variable(width=width))
                    variable.names.append((block, name))
                    if name == wanted.clock:
                        variable.edges = []
    return found


def read_changes(lines: Iterator[str], variables: Mapping[str, Variable]) -> list[int]:
    """Read the changes of variables in a file's body; return the recorded cycles."""
    cycles: list[int] = []
    column, is_after = 0, False
    for line in lines:
        kind = line[:1]
        if kind == "#":
            time = int(line[1:])
            is_after = time % 2 == 1
            if not is_after:
                cycles.append(time // 2)
            # Values after the edge are those of the next cycle, unless they change before it.
            column = len(cycles) - (0 if is_after else 1)
            continue
        if kind == "b":
            text, _, code = line[1:].rstrip().partition(" ")
        else:
            text, code = kind, line[1:].rstrip()
        variable = variables.get(code)
        if variable is None:
            continue
        try:
            value = int(text, 2)
        except ValueError:
            if kind != "b" and kind not in "xzXZ":
                continue  # a keyword such as $dumpvars
            value = int(text.translate(UNKNOWN), 2)
        if variable.edges is not None and is_after and value:
            variable.edges.append(len(cycles) - 1)
        variable.columns.append(column)
        variable.values.append(value)
    return cycles


def bits_of(variable: Variable, cycles: int) -> NDArray[np.bool_]:
    """Return a variable as bits, a row for each bit and a column for each cycle; 0 at first."""
    size = -(-variable.width // 8)
    data = b"".join(value.to_bytes(size, "little") for value in (0, *variable.values))
    table = np.frombuffer(data, np.uint8).reshape(-1, size)
    last = np.zeros(cycles + 1, np.int64)
    np.maximum.at(last, variable.columns, np.arange(1, len(variable.columns) + 1))
    rows = table[np.maximum.accumulate(last[:cycles])]
    return np.unpackbits(rows, axis=1, bitorder="little", count=variable.width).T.astype(bool)
