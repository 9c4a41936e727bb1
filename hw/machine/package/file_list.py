"""File list of a design, for simulators, linters and compilers of Verilog."""

from ...emit.emission import Emission
from ..artifacts import generator

__all__ = ["file_list", "verilog_files"]


def verilog_files(emission: Emission) -> list[str]:
    """Return the names of the Verilog files of a design, in the order of compilation."""
    return [f"{emission.name}.v"] + ([] if emission.srams is None else [f"{emission.name}_sram.v"])


def file_list(emission: Emission) -> str:
    """Return the file list; its names are relative to its folder.

    ``-f`` of Verilator, VCS, Xcelium and slang reads it in that folder, ``-F`` from any other.
    """
    lines = [
        f"// {generator()}: Verilog of the cluster {emission.name}.",
        "// Read by -f in this folder, by -F from another one.",
        *verilog_files(emission),
    ]
    return "\n".join(lines) + "\n"
