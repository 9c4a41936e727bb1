"""Netlist of a design as the writer needs it, and which signals its source reads."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _ir, _nir
from amaranth.lib import wiring

from ...dependencies import Dependencies

__all__ = ["BuiltNetlist", "Reads", "build_netlist"]

ir: Any = _ir  # no stub
nir: Any = _nir
#: Number of reads of bits ``first`` to ``end`` of a signal by the logic of a module: by the index
#: of the module, and by the id of the signal.
Reads = dict[int, dict[int, Counter[tuple[int, int]]]]


@dataclass(frozen=True)
class BuiltNetlist:
    """Netlist of one conversion.

    Parameters
    ----------
    netlist : Netlist
        With resolved nets; without ports of the modules below the top.
    reads : Reads
        Signals that the source reads.
    origins : dict of int to object
        Component that each module was elaborated from, if it is known.
    has_cell_cycle : bool
        Whether a cell depends on itself in a cycle, through other bits.

    """

    netlist: Any
    reads: Reads
    origins: dict[int, Any]
    has_cell_cycle: bool


class QuietEmitter(ir.NetlistEmitter):
    """Emitter of a netlist without tables of the fields of signals; the writer finds fields."""

    def emit_signal_fields(self):
        """Do nothing."""


def build_netlist(design: Any) -> BuiltNetlist:
    """Return the netlist of a lowered design."""
    netlist = nir.Netlist()
    emitter = QuietEmitter(netlist, design)
    emitter.emit_fragment(design.fragment, None)
    dependencies = Dependencies(netlist)
    has_cell_cycle = dependencies.has_cell_cycle()
    if has_cell_cycle and dependencies.has_net_cycle():
        netlist.check_comb_cycles()  # raises with the path of the cycle
    reads = source_reads(netlist)
    netlist.resolve_all_nets()
    origins = {}
    for fragment, index in emitter.fragment_module_idx.items():
        for origin in fragment.origins or ():
            if isinstance(origin, wiring.Component):
                origins.setdefault(index, origin)
    return BuiltNetlist(netlist, reads, origins, has_cell_cycle)


def source_reads(netlist: Any) -> Reads:
    """Return the signals that logic reads, before their nets are replaced by those of drivers."""
    signals = netlist.late_to_signal
    reads: Reads = defaultdict(lambda: defaultdict(Counter))
    for cell in netlist.cells:
        table = reads[cell.module_idx]
        for value in read_values(cell):
            for first, width in late_runs(value, signals):
                signal, bit = signals[first]
                table[id(signal)][bit, bit + width] += 1
    return reads


def read_values(cell: Any) -> list:
    """Return the values that the logic of a cell reads; none if it only connects."""
    kind = type(cell)
    if kind is nir.Operator:
        return list(cell.inputs)
    if kind is nir.AssignmentList:
        return [one.value for one in cell.assignments if one.cond != 1]
    if kind is nir.Matches:
        return [cell.value]
    if kind is nir.Part:
        return [cell.value, cell.offset]
    if kind is nir.FlipFlop:
        return [cell.data]
    if kind is nir.SyncWritePort:
        return [cell.data, cell.addr, cell.en]
    if kind in (nir.SyncReadPort, nir.AsyncReadPort):
        return [cell.addr]
    return []


def late_runs(value, signals):
    """Yield first net and width of each run of neighbouring bits of one signal."""
    begin, count = 0, len(value)
    while begin < count:
        first = tuple.__getitem__(value, begin)
        end = begin + 1
        if first < 0:
            signal = signals[first][0]
            while end < count:
                net = tuple.__getitem__(value, end)
                if net != first + end - begin or net >= 0 or signals[net][0] is not signal:
                    break
                end += 1
            yield first, end - begin
        begin = end
