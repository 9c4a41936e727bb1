"""Formal equivalence check of two Verilog texts."""

from .yosys import run_yosys

__all__ = ["require_equal"]

SCRIPT = """\
read_verilog left.v
hierarchy -top {top}
proc
flatten
memory_map
rename {top} left
design -stash left
read_verilog right.v
hierarchy -top {top}
proc
flatten
memory_map
rename {top} right
design -copy-from left left
equiv_make left right both
equiv_simple both
tee -o status.txt equiv_status -assert both
"""


def require_equal(left: str, right: str, top: str) -> str:
    """Return the proof's log; raise `YosysError` if a register or an output may differ.

    Both designs need registers and memories of the same names; the proof assumes equal values in
    one cycle and shows equal values in the next.
    """
    files = {"left.v": left, "right.v": right}
    return run_yosys(SCRIPT.format(top=top), files, ["status.txt"])["status.txt"]
