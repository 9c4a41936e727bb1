"""Reference of a conversion: Amaranth's own RTLIL of the same netlist, with numbered cells."""

from types import SimpleNamespace
from typing import Any

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _ast, _ir, _nir

__all__ = ["LABEL", "reference_text"]

ast: Any = _ast  # no stub
ir: Any = _ir
nir: Any = _nir
#: Begin of the names of cells and memories; their index in the netlist follows.
LABEL = "cell:"


class NoFields:
    """Table of the fields of signals without any."""

    def __getitem__(self, signal):
        return {(): SimpleNamespace(enum_name=None, enum_variants=None)}


class NumberedEmitter(rtlil.ModuleEmitter):
    """Emitter of a module that names each cell after its index in the netlist."""

    builder: Any

    def collect_memory_info(self):
        super().collect_memory_info()
        for index, memory in self.memories.items():
            name = f"\\{LABEL}{index}"
            self.builder.contents[memory.memid].name = memory.memid = name

    def emit_memory(self, cell_idx, cell):
        # A memory of zeros has no initial contents: no block relies on them.
        if any(cell.init):
            super().emit_memory(cell_idx, cell)

    def number(self, index: int) -> None:
        """Name the cell that was added last."""
        last = next(reversed(self.builder.contents))
        self.builder.contents[last].name = f"\\{LABEL}{index}"

    def emit_operator(self, cell_idx, cell):
        super().emit_operator(cell_idx, cell)
        self.number(cell_idx)

    def emit_flip_flop(self, cell_idx, cell):
        super().emit_flip_flop(cell_idx, cell)
        self.number(cell_idx)

    def emit_read_port(self, cell_idx, cell):
        super().emit_read_port(cell_idx, cell)
        self.number(cell_idx)

    def emit_write_port(self, cell_idx, cell):
        super().emit_write_port(cell_idx, cell)
        self.number(cell_idx)

    def emit_instance(self, cell_idx, cell):
        super().emit_instance(cell_idx, cell)
        self.number(cell_idx)


def reference_text(netlist: Any) -> str:
    """Return the RTLIL of a netlist with resolved nets; the netlist gets ports of its modules."""
    netlist.signal_fields = NoFields()
    ir._compute_net_flows(netlist)
    ir._compute_ports(netlist)
    checker = rtlil.EmptyModuleChecker(netlist)
    builder: Any = rtlil.Design(emit_src=False)
    names = ast.SignalDict()
    for index, module in enumerate(netlist.modules):
        if not checker.is_empty(index):
            part = builder.module(".".join(module.name))
            NumberedEmitter(part, netlist, module, names, empty_checker=checker).emit()
    return str(builder)
