"""Verilog rewrite for Verilator: waveforms of registers, ports and read data only."""

import re

from ...hw.emit.verilog_registers import by_modules

__all__ = ["recording_states"]

IDENTIFIER = r"(?!signed )(?:\\\S+|[A-Za-z_][\w$]*)"
TYPE = r"(?:signed )?(?:\[\d+:\d+\] )?"
PORT = re.compile(rf"^  (?:input|output|inout) {TYPE}({IDENTIFIER})", re.M)
#: A wire or an array.
DECLARATION = re.compile(
    rf"^  (?:wire {TYPE}({IDENTIFIER})|reg {TYPE}({IDENTIFIER}) \[\d+:\d+\])"
    r"[^;\n]*;\n",
    re.M,
)
READ = re.compile(rf"^  assign ({IDENTIFIER}) +=[^;\n]*?({IDENTIFIER}) ?\[", re.M)


def recording_states(verilog: str) -> str:
    """Return equivalent Verilog whose waveforms lack wires, except ports and what memories read.

    The rest follows from these signals. A model that must show all wires has several times the
    code, and keeps wires that are otherwise optimized away.
    """
    return by_modules(recording_in, verilog)


def recording_in(module: str) -> str:
    """Return a module whose waveforms have only its registers, ports and read data."""
    arrays = {declaration[2] for declaration in DECLARATION.finditer(module) if declaration[2]}
    visible = set(PORT.findall(module))
    visible |= {name for name, source in READ.findall(module) if source in arrays}

    def hidden(declaration: re.Match) -> str:
        if declaration[1] in visible:
            return declaration[0]
        return f"/*verilator tracing_off*/\n{declaration[0]}/*verilator tracing_on*/\n"

    return DECLARATION.sub(hidden, module)
