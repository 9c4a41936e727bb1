"""Verilog in which memories that are written by parts of words are written by words."""

import re
from functools import partial
from itertools import pairwise

from ...hw.emit.verilog_registers import by_modules

__all__ = ["with_whole_words"]

#: A block that writes to a memory, and nothing else.
BLOCK = re.compile(
    r"^  always @\(posedge [^)]+\) begin\n"
    r"((?:    if \([^\n]+\)\n      [^\n]+ <= [^\n]+;\n){2,})  end\n",
    re.M,
)
#: One of its parts: when, where, which bits of the word, with what.
PART = re.compile(r"    if \((.+)\)\n      ((\S+?) ?\[.+\])\[(\d+)(?::(\d+))?\] <= (.+);\n")


def with_whole_words(verilog: str) -> str:
    """Return Verilog that does the same, for a simulator that has to look after every write.

    Verilator keeps each write to a memory until all that reads it is done, and asks in every cycle
    of each whether it took place. Of a word with 32 bytes these are 32, and 1 if it is written
    whole, what stays of it with what it is. For synthesis the parts must stay: they are the
    enables of bytes.
    """
    return by_modules(partial(BLOCK.sub, by_words), verilog)


def by_words(block: re.Match) -> str:
    """Return a block that writes whole words, where it writes all parts of one word."""
    module = block.string
    parts = PART.findall(block[1])
    if len(parts) != block[1].count("    if (") or len({part[1] for part in parts}) != 1:
        return block[0]
    place, name = parts[0][1:3]
    width = re.search(rf"^  reg \[(\d+):0\] {re.escape(name)} \[\d+:0\];", module, re.M)
    bounds = [(int(low or high), int(high)) for _, _, _, high, low, _ in parts]
    follow = [low == high + 1 for (_, high), (low, _) in pairwise(bounds)]
    is_whole = width is not None and bounds[0][0] == 0 and bounds[-1][1] == int(width[1])
    # Somebody else might write to other parts of the same word at the same time.
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
