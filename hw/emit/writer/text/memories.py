"""Memories: arrays with the processes of their ports."""

from collections.abc import Iterator
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from ..nets.nodes import Node
from ..variables.naming import Naming
from ..variables.plan import ModulePlan
from .conditions import Conditions
from .layout import wrapped
from .texts import constant
from .whole_words import parts_of, whole_word_write

__all__ = ["MemoryText"]

nir: Any = _nir  # no stub


class MemoryText:
    """Text of the memories of a module.

    Parameters
    ----------
    plan : ModulePlan
    naming : Naming
        With the names of the memories.
    expressions : Conditions

    """

    def __init__(self, plan: ModulePlan, naming: Naming, expressions: Conditions):
        self.plan, self.naming, self.expressions = plan, naming, expressions

    def name(self, memory: int) -> str:
        """Return the name of a memory by the index of its cell."""
        return self.naming.homes.memories[memory].name

    def declarations(self) -> Iterator[str]:
        """Yield the declaration of each memory."""
        for node in self.plan.memories:
            cell = node.cell
            name = self.name(node.index)
            yield f"reg [{cell.width - 1}:0] {name} [0:{cell.depth - 1}];"

    def initial(self) -> Iterator[str]:
        """Yield the statements that give words their first value.

        A memory of zeros has no initial contents: no block relies on them.
        """
        for node in self.plan.memories:
            cell = node.cell
            for place, word in enumerate(cell.init if any(cell.init) else ()):
                bits = [word >> bit & 1 for bit in range(cell.width)]
                yield f"{self.name(node.index)}[{place}] = {constant(bits)};"

    def port(self, node: Node) -> list[str]:
        """Return the lines of a port with a clock; none for other cells."""
        if node.kind is nir.SyncReadPort:
            return self.read(node)
        if node.kind is nir.SyncWritePort and node.end:
            return self.write(node)
        return []

    def head(self, node: Node, clock: list[int]) -> str:
        """Return the head of the process of a port."""
        return f"always @({node.cell.clk_edge}edge {self.expressions.text(clock)})"

    def read(self, node: Node) -> list[str]:
        """Return the lines of a read port."""
        address, enable, clock = node.inputs
        assert not node.cell.transparent_for
        target = self.naming.variables[node.index].name
        word = f"{self.name(node.cell.memory)}[{self.expressions.address(address)}]"
        text = f"{target} <= {word};"
        if enable != [1]:
            text = f"if ({self.expressions.text(enable)}) {text}"
        return [self.head(node, clock), wrapped(text, "    ")]

    def write(self, node: Node) -> list[str]:
        """Return the lines of a write port: one assignment for each part with its own enable."""
        data, address, enable, clock = node.inputs
        head = self.head(node, clock)
        word = f"{self.name(node.cell.memory)}[{self.expressions.address(address)}]"
        if node.index in self.plan.by_words:
            return [head, *whole_word_write(node, word, self.expressions)]
        lines = []
        for first, end in parts_of(node):
            part = "" if end - first == len(data) else f"[{end - 1}:{first}]"
            text = f"{word}{part} <= {self.expressions.text(data[first:end])};"
            if enable[first] != 1:
                text = f"if ({self.expressions.text([enable[first]])}) {text}"
            if enable[first] != 0:
                lines.append(wrapped(text, "    "))
        if len(lines) > 1:
            return [f"{head} begin", *lines, "  end"]
        return [head, *lines] if lines else []
