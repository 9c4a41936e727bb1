"""Verilog rewrite for Verilator: partial writes of a memory word become one whole-word write."""

import re
from functools import partial
from itertools import pairwise

from ...hw.emit.verilog_registers import by_modules

__all__ = ["with_whole_words"]

#: An `always` block that only writes to a memory.
BLOCK = re.compile(
    r"^  always @\(posedge [^)]+\) begin\n"
    r"((?:    if \([^\n]+\)\n      [^\n]+ <= [^\n]+;\n){2,})  end\n",
    re.M,
)
#: One partial write: enable, address, bits of the word, value.
PART = re.compile(r"    if \((.+)\)\n      ((\S+?) ?\[.+\])\[(\d+)(?::(\d+))?\] <= (.+);\n")


def with_whole_words(verilog: str) -> str:
    """Return equivalent Verilog with one write per memory word, which simulates faster.

    Verilator queues each partial write to a memory and checks every queue in every cycle: 32
    checks for a word of 32 bytes. A whole-word write that keeps the disabled bytes needs one
    check. Synthesis needs the partial writes, which become byte enables.
    """
    return by_modules(partial(BLOCK.sub, by_words), verilog)


def by_words(block: re.Match) -> str:
    """Return a block that writes whole words, if the block covers all parts of one word."""
    module = block.string
    parts = PART.findall(block[1])
    if len(parts) != block[1].count("    if (") or len({part[1] for part in parts}) != 1:
        return block[0]
    place, name = parts[0][1:3]
    width = re.search(rf"^  reg \[(\d+):0\] {re.escape(name)} \[\d+:0\];", module, re.M)
    bounds = [(int(low or high), int(high)) for _, _, _, high, low, _ in parts]
    follow = [low == high + 1 for (_, high), (low, _) in pairwise(bounds)]
    is_whole = width is not None and bounds[0][0] == 0 and bounds[-1][1] == int(width[1])
    # Another block could write other parts of the same word in the same cycle.
    others = module.replace(block[0], "")
    is_alone = re.search(rf"{re.escape(name)} ?\[[^\n]*<= ", others) is None
    if not (is_whole and all(follow) and is_alone):
        return block[0]
    enables = " | ".join(f"({enable})" for enable, *_ in parts)
    values = [
        f"(({enable}) ? ({value}) : {place}[{high}:{low or high}])"
        for enable, _, _, high, low, value in reversed(parts)
    ]
    lines = ",\n        ".join(values)
    head, _ = block[0].split("\n", 1)
    return f"{head}\n    if ({enables})\n      {place} <= {{\n        {lines} }};\n  end\n"
