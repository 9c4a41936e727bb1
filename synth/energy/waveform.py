"""Recorded values of blocks from waveforms of the RTL, VCD files of the parts of a design."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...base.errors import UserError
from .recorded_signals import Recorded

__all__ = ["Waveform", "WaveformFile", "clock_ports", "read_waveforms"]

VARIABLE = re.compile(r"\$var\s+\w+\s+(\d+)\s+(\S+)\s+(\S+)")
#: Scopes down to the part: root, wrapper, part.
PART_LEVEL = 3
#: Name of the clock in every block.
CLOCK = "clk"
UNKNOWN = str.maketrans("xzXZ", "0000")


@dataclass(frozen=True, kw_only=True)
class WaveformFile:
    """Waveform of a part of a design.

    Parameters
    ----------
    place : str
        Path of the part in the design, with dots.
    lines : iterable of str
        Lines of the file, which has the part in its third scope, as the Verilator engine writes it.
        At time 2n are the values of cycle n before its clock edge, and at time 2n + 1 those after
        it, where the clock of a block with an edge is 1.

    """

    place: str
    lines: Iterable[str]


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
        windows = (range(a + 1, b) for a, b in pairwise(bounds))
        return [window for window in windows if window]


@dataclass(kw_only=True)
class Variable:
    """Variable of the file: its names by scope, and the column and value of each change."""

    width: int
    names: list[tuple[str, str]] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    edges: list[int] | None = None


def placed(path: Sequence[str], place: str) -> str:
    """Return the path in the design of a scope of a file; empty for a scope above its part."""
    return ".".join([place, *path[PART_LEVEL:]]) if len(path) >= PART_LEVEL else ""


def clock_ports(file: WaveformFile, ports: Collection[str]) -> dict[str, str]:
    """Return the port of a part that clocks each instance in it, by the instance's path.

    Parameters
    ----------
    file : WaveformFile
        Waveform of the part.
    ports : collection of str
        Clock ports of the part. If there is only one, it clocks all instances; otherwise the result
        has only instances with a clock ``clk`` that the file shows to be the signal of a port.

    """
    codes: dict[str, str] = {}
    modules: dict[str, str] = {}
    path: list[str] = []
    for line in file.lines:
        words = line.split()
        if words[:1] == ["$scope"]:
            path.append(words[2])
            if len(ports) == 1 and (own := placed(path, file.place)):
                modules[own] = next(iter(ports))
        elif words[:1] == ["$upscope"]:
            path.pop()
        elif words[:1] == ["$enddefinitions"]:
            break
        elif words[:1] == ["$var"]:
            if len(path) == PART_LEVEL and words[4] in ports:
                codes[words[3]] = words[4]
            elif words[4] == CLOCK and words[3] in codes:
                modules[placed(path, file.place)] = codes[words[3]]
    return modules


def read_waveforms(
    files: Iterable[WaveformFile], cycles: Sequence[int], blocks: Mapping[str, Recorded]
) -> dict[str, Waveform]:
    """Return the values of signals of blocks in each recorded cycle.

    Parameters
    ----------
    files : iterable of WaveformFile
        Waveforms of all parts of the design.
    cycles : sequence of int
        Recorded cycles, ascending. A file has no times at which nothing of its part changes.
    blocks : mapping of str to Recorded
        Signals of each block by the path of its instance, with dots.

    """
    columns = {cycle: column for column, cycle in enumerate(cycles)}
    variables: list[Variable] = []
    seen: set[int] = set()
    for file in files:
        lines = iter(file.lines)
        declared = variables_of(lines, file.place, blocks)
        seen |= read_changes(lines, declared, columns)
        variables += declared.values()
    if missing := sorted(columns.keys() - seen):
        raise UserError(f"the waveforms must have cycle {missing[0]} of the run")
    waveforms = {
        path: Waveform(
            cycles=np.array(cycles), signals={}, clocked=np.full(len(cycles), block.clock is None)
        )
        for path, block in blocks.items()
    }
    clocks = set()
    for variable in variables:
        bits = bits_of(variable, len(cycles))
        for path, name in variable.names:
            if name == blocks[path].clock_variable:
                clocks.add(path)
                waveforms[path].clocked[variable.edges] = True
            waveforms[path].signals[name] = bits
    for path, block in blocks.items():
        waveforms[path] = replace(waveforms[path], signals=block.signals(waveforms[path].signals))
        if block.clock is not None and path not in clocks:
            raise UserError(f"the waveform must have a clock {path}.{block.clock}")
    return waveforms


def variables_of(
    lines: Iterator[str], place: str, blocks: Mapping[str, Recorded]
) -> dict[str, Variable]:
    """Return the needed variables in a file's head by their codes."""
    variables: dict[str, Variable] = {}
    path: list[str] = []
    owners: list[tuple[str, str]] = []  # blocks around the scope, and the path below each
    for line in lines:
        words = line.split()
        if words[:1] in (["$scope"], ["$upscope"]):
            if words[0] == "$scope":
                path.append(words[2])
            else:
                path.pop()
            owners = list(blocks_around(placed(path, place), blocks))
        elif words[:1] == ["$enddefinitions"]:
            break
        elif owners and (declared := VARIABLE.match(line.strip())):
            width, code, signal = int(declared[1]), declared[2], declared[3]
            for block, below in owners:
                name, recorded = below + signal, blocks[block]
                if name in recorded.variables or name == recorded.clock_variable:
                    variable = variables.setdefault(code, Variable(width=width))
                    variable.names.append((block, name))
                    if name == recorded.clock_variable:
                        variable.edges = []
    return variables


def blocks_around(path: str, blocks: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each block that is at a path or above it, and the path below the block."""
    names = path.split(".") if path else []
    for length in range(1, len(names) + 1):
        block = ".".join(names[:length])
        if block in blocks:
            yield block, "".join(f"{name}." for name in names[length:])


def read_changes(
    lines: Iterator[str], variables: Mapping[str, Variable], columns: Mapping[int, int]
) -> set[int]:
    """Read the changes of variables in a file's body; return the cycles that it has.

    Parameters
    ----------
    lines : iterator of str
        Lines of the body.
    variables : mapping of str to Variable
        Variables by their codes.
    columns : mapping of int to int
        Column of each recorded cycle.

    """
    cycles: set[int] = set()
    own, column, is_after = 0, 0, False
    for line in lines:
        kind = line[:1]
        if kind == "#":
            cycle, is_after = divmod(int(line[1:]), 2)
            if cycle not in columns:
                raise UserError(f"the waveforms must have only recorded cycles, not {cycle}")
            cycles.add(cycle)
            own = columns[cycle]
            # Values after the edge are those of the next cycle, unless they change before it.
            column = own + is_after
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
            variable.edges.append(own)
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
    bits = np.unpackbits(rows, axis=1, bitorder="little", count=variable.width)
    return np.ascontiguousarray(bits.T).view(bool)  # a bit's cycles side by side
