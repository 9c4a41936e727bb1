"""Partial writes of a memory word as one write of the whole word, which simulates faster.

Verilator queues each partial write to a memory and checks every queue in every cycle: 32 checks
for a word of 32 bytes. A write of the whole word that keeps the disabled bytes needs one check.
Synthesis needs the partial writes, which become byte enables.
"""

from ..nets.nodes import Node
from .expressions import Expressions
from .layout import wrapped
from .texts import enclosed

__all__ = ["parts_of", "whole_word_write"]


def parts_of(node: Node) -> list[tuple[int, int]]:
    """Return the first bit and the end of each part of a word with an enable of its own."""
    enable = node.inputs[2]
    starts = [bit for bit, net in enumerate(enable) if bit == 0 or net != enable[bit - 1]]
    return list(zip(starts, [*starts[1:], len(enable)], strict=True))


def whole_word_write(node: Node, place: str, expressions: Expressions) -> list[str]:
    """Return the lines of a write port under its clock edge.

    Parameters
    ----------
    node : Node
        Write port.
    place : str
        Word of the memory that it writes.
    expressions : Expressions
        Expressions of the module.

    """
    data, _, enable, _ = node.inputs
    values = []
    for first, end in reversed(parts_of(node)):
        new, old = expressions.text(data[first:end]), f"{place}[{end - 1}:{first}]"
        if enable[first] > 1:
            test = expressions.value([enable[first]])
            values.append(f"{enclosed(test)} ? {new} : {old}")
        else:
            values.append(new if enable[first] else old)
    lines = [f"    {place} <= {{"]
    if 1 not in enable:
        enables = list(dict.fromkeys(net for net in enable if net > 1))
        lines = [wrapped(f"if (|{expressions.wrapped(enables)})", "    "), f"      {place} <= {{"]
    lines += [wrapped(f"{value},", "          ") for value in values]
    lines[-1] = f"{lines[-1][:-1]}}};"
    return lines
