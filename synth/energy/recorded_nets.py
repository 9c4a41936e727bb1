"""Recorded values of the nets of a mapped netlist, found by the names of its signals."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...base.errors import UserError
from .mapped_netlist import ONE, ZERO, MappedNetlist
from .recorded_signals import PART

__all__ = ["Bits", "NetRows", "RecordedNets", "opaque_ports"]

#: Least number of spans of cycles that are not read as slices.
FEW = 16
#: One row per bit of a signal, least significant bit first, and one column per cycle.
Bits = NDArray[np.bool_]


def named_nets(netlist: MappedNetlist) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield all names of nets, also those at ports of memories and of other blocks."""
    yield from netlist.names.items()
    yield from opaque_ports(netlist).items()


def opaque_ports(netlist: MappedNetlist) -> dict[str, tuple[int, ...]]:
    """Return the nets at the ports of memories and of other blocks, as ``instance.port``."""
    return {
        f"{part.name}.{port}": nets
        for part in netlist.opaque
        for port, nets in (*part.outputs.items(), *part.inputs.items())
    }


class NetRows:
    """Rows of the nets in a table of all recorded signals, the same for all instances of a block.

    Parameters
    ----------
    netlist : MappedNetlist
        The netlist.
    widths : mapping of str to int
        Bits of each recorded signal, in the order of the table.

    Attributes
    ----------
    rows : dict of int to int
        Row of each net that has a recorded name; that behind the last, which is 0, for those that
        nothing depends on.
    needless : set of int
        Nets without a recorded name that nothing depends on.
    names : dict of int to str
        First name of each net.
    agreeing : list of (int, int, str)
        Two rows that must be equal, and a text for the report if they are not. Signals that
        synthesis made one with an input, and registers that it merged, may differ where it does not
        matter; where it matters, an output or a next state differs.

    """

    def __init__(self, netlist: MappedNetlist, widths: Mapping[str, int]):
        self.netlist, self.widths = netlist, dict(widths)
        self.ports = {*netlist.inputs, *netlist.outputs, *opaque_ports(netlist)}
        inward = [nets for part in netlist.opaque for nets in part.outputs.values()]
        self.sources = {net for nets in (*netlist.inputs.values(), *inward) for net in nets}
        self.rows: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.at_port: dict[int, bool] = {}
        self.agreeing: list[tuple[int, int, str]] = []
        ends = np.cumsum([0, *self.widths.values()])
        self.count = int(ends[-1])
        places: dict[str, dict[int, int]] = defaultdict(dict)
        for key, start in zip(self.widths, ends[:-1].tolist(), strict=True):
            name, first, left_out = (*key.split(PART), "0", "0")[:3]
            for bit in range(self.widths[key]):
                places[name][int(first) + bit] = start + bit
            for bit in range(int(left_out)):
                places[name][int(first) + bit] = self.count
        # The ports of sources first: synthesis drops logic whose value does not matter, and gives
        # the names of its results to what remains.
        own = {name: nets for name, nets in named_nets(netlist) if self.is_source(name, nets)}
        rest = ((name, nets) for name, nets in named_nets(netlist) if name not in own)
        for name, nets in (*own.items(), *rest):
            self.add(name, nets, places.get(name, {}))
        self.needless = {net for net, row in self.rows.items() if row == self.count}

    def is_source(self, name: str, nets: Iterable[int]) -> bool:
        """Return whether a name is a port, and nets of it come from outside of the netlist."""
        return name in self.ports and not self.sources.isdisjoint(nets)

    def add(self, name: str, nets: tuple[int, ...], places: Mapping[int, int]):
        """Add the nets of a name, by the rows of its bits that are recorded."""
        is_port = name in self.ports
        for k, net in enumerate(nets):
            bit = f"{name}[{k}]" if len(nets) > 1 else name
            first = self.names.setdefault(net, bit)
            row = places.get(k)
            if row is None or net in (ZERO, ONE) or net in self.netlist.clocks:
                continue
            if self.rows.get(net, self.count) == self.count:
                self.rows[net], self.at_port[net] = row, is_port
                continue
            if row == self.count:
                continue
            both = is_port and self.at_port[net]
            if both or ((is_port or self.at_port[net]) and net not in self.sources):
                text = f"{first} and {bit}, which are one net"
                self.agreeing.append((self.rows[net], row, text))

    def indices(self, nets: Iterable[int]) -> NDArray[np.int64]:
        """Return the rows of nets; the row behind the last, which is 0, for clocks."""
        return np.array([self.index(net) for net in nets], np.int64)

    def index(self, net: int) -> int:
        """Return the row of a net; raise if it has no recorded name."""
        row = self.count if net in self.netlist.clocks else self.rows.get(net)
        if row is None:
            name = self.names.get(net, f"net {net}")
            raise UserError(f"the recorded run must have {name} of {self.netlist.name}")
        return row

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The rows of `agreeing`, a column for each pair."""
        pairs = [(one, other) for one, other, _ in self.agreeing]
        return np.array(pairs, np.int64).reshape(-1, 2).T


@dataclass(frozen=True)
class RecordedNets:
    """Recorded values of an instance.

    Parameters
    ----------
    rows : NetRows
        Rows of its nets.
    table : Bits
        All recorded signals one below the other, and a row of 0.

    """

    rows: NetRows
    table: Bits

    @classmethod
    def of(
        cls, netlist: MappedNetlist, signals: Mapping[str, Bits], known: list[NetRows] | None = None
    ) -> "RecordedNets":
        """Return the recorded values of nets from those of signals.

        Parameters
        ----------
        netlist : MappedNetlist
            The netlist.
        signals : mapping of str to Bits
            Values of signals by their names.
        known : list of NetRows or None
            Rows of the netlist for other instances; rows that are not in it are appended.

        """
        lengths = {bits.shape[1] for bits in signals.values()}
        if len(lengths) != 1:
            raise ValueError(f"signals must have equally many cycles, not {sorted(lengths)}")
        widths = {name: len(signals[name]) for name in sorted(signals)}
        known = [] if known is None else known
        rows = next((table for table in known if table.widths == widths), None)
        if rows is None:
            rows = NetRows(netlist, widths)
            known.append(rows)
        zeros = np.zeros((1, *lengths), bool)
        return cls(rows, np.concatenate([*(signals[name] for name in widths), zeros]))

    @property
    def cycles(self) -> int:
        """Recorded cycles."""
        return self.table.shape[1]

    def values(self, nets: Iterable[int], cycles: NDArray[np.int64]) -> Bits:
        """Return the values of nets in some cycles, a row for each net; a clock counts as 0."""
        rows = self.rows.indices(nets)
        bounds = [0, *(np.flatnonzero(np.diff(cycles) != 1) + 1).tolist(), len(cycles)]
        if len(bounds) > FEW + 1:
            return self.table[rows][:, cycles]
        # Slices of many cycles are much faster than single cycles.
        spans = [(int(cycles[first]), end - first) for first, end in pairwise(bounds)]
        return np.concatenate([self.table[rows, at : at + n] for at, n in spans], axis=1)

    def ambiguous(self, cycles: NDArray[np.int64]) -> tuple[NDArray[np.bool_], set[str]]:
        """Return in which of some cycles a port has several recorded values, and its names."""
        one, other = self.rows.pairs
        packed, chosen = np.packbits(self.table, axis=1), np.zeros(self.cycles, bool)
        chosen[cycles] = True
        differs = (packed[one] ^ packed[other]) & np.packbits(chosen)
        names = {self.rows.agreeing[k][2] for k in np.flatnonzero(differs.any(axis=1))}
        wrong = np.unpackbits(np.bitwise_or.reduce(differs, axis=0), count=self.cycles)
        return wrong[cycles].astype(bool), names
