"""Marks of signals that waveforms of a simulation leave out."""

__all__ = ["OFF", "ON", "recording_all"]

#: Lines around declarations of signals that waveforms leave out: all but ports, registers and read
#: data, from which the rest follows. A model that records all signals has several times the code,
#: and keeps signals that are otherwise optimized away.
OFF, ON = "  /*verilator tracing_off*/", "  /*verilator tracing_on*/"


def recording_all(verilog: str) -> str:
    """Return equivalent Verilog whose waveforms have all signals."""
    return verilog.replace(f"{OFF}\n", "").replace(f"{ON}\n", "")
