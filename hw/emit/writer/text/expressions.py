"""Expressions of Verilog, each with exactly the width of its value."""

from collections.abc import Iterator, Sequence
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from ..nets.nodes import Node
from ..variables.variables import Variable
from .bit_names import BitNames
from .texts import ATOM, BINARY, TERNARY, UNARY, Text, constant, inverse, ternary

__all__ = ["Expressions"]

nir: Any = _nir  # no stub
#: Operators that may follow themselves without parentheses.
ASSOCIATIVE = {"&", "|", "^", "+"}
REDUCTIONS = {"r|": "|", "r&": "&", "r^": "^", "b": "|"}


class Expressions:
    """Expressions over the variables of a module.

    Parameters
    ----------
    nodes : sequence of Node
        Cells of the netlist.
    names : BitNames
        Variables of nets; a cell without one is written in place.

    Attributes
    ----------
    used : set of Variable
        Variables that the expressions read; a caller clears it.

    """

    def __init__(self, nodes: Sequence[Node], names: BitNames):
        self.nodes, self.names, self.homes = nodes, names, names.homes
        self.used: set[Variable] = set()

    def value(self, nets: Sequence[int]) -> Text:
        """Return the expression of a value that is not empty."""
        parts = list(self.parts(nets))
        if len(parts) == 1:
            return parts[0]
        return Text(f"{{{', '.join(part.text for part in reversed(parts))}}}")

    def text(self, nets: Sequence[int]) -> str:
        """Return the text of a value."""
        return self.value(nets).text

    def address(self, nets: Sequence[int]) -> str:
        """Return the text of an address, which has no bits in a memory of one word."""
        return self.text(nets) if nets else "1'b0"

    def operand(self, nets: Sequence[int], operator: str) -> str:
        """Return the text of a value as an operand; mixed operators get parentheses."""
        part = self.value(nets)
        is_same = part.operator == operator and operator in ASSOCIATIVE
        # A reduction beside `&` or `|` reads as a logical operator.
        is_unary = part.precedence == UNARY and (
            part.text[0] in "~-" or (operator in BINARY and operator not in ("&", "|"))
        )
        is_alone = part.precedence == ATOM or is_same or is_unary
        return part.text if is_alone else f"({part.text})"

    def parts(self, nets: Sequence[int]) -> Iterator[Text]:
        """Yield the operands of a concatenation, the lowest first."""
        place, count = 0, len(nets)
        where = self.homes.where
        while place < count:
            net, end = nets[place], place + 1
            if net < 2:
                while end < count and nets[end] < 2:
                    end += 1
                yield Text(constant(nets[place:end]))
            elif net in where:
                variable, bit = where[net]
                while end < count and where.get(nets[end]) == (variable, bit + end - place):
                    end += 1
                if end == place + 1:
                    while end < count and nets[end] == net:
                        end += 1
                piece = self.piece(
                    variable, bit, bit + (1 if nets[end - 1] == net else end - place)
                )
                yield Text(repeated(piece, end - place) if nets[end - 1] == net else piece)
            else:
                node = self.nodes[net >> 16]
                end = place + node.end - node.first
                assert list(nets[place:end]) == node.nets, (node.cell, nets[place:end])
                times = 1
                if len(node.nets) == 1:
                    while place + times < count and nets[place + times] == net:
                        times += 1
                part = self.inline(node)
                end = place + (times if times > 1 else node.end - node.first)
                yield Text(repeated(part.text, times)) if times > 1 else part
            place = end

    def piece(self, variable: Variable, first: int, end: int) -> str:
        """Return bits of a variable, by a name for these bits if there is one."""
        if end - first < variable.width:
            variable, first, end = self.names.named(variable, first, end)
        self.used.add(variable)
        variable.mark(first, end)
        return variable.bits(first, end)

    def inline(self, node: Node) -> Text:
        """Return the expression of a cell's live bits."""
        kind = node.kind
        if kind is nir.Operator:
            return self.operation(node)
        if kind is nir.Part:
            return self.selection(node)
        if kind is nir.AsyncReadPort:
            memory = self.homes.memories[node.cell.memory]
            self.used.add(memory)
            return Text(f"{memory.name}[{self.address(node.inputs[0])}]")
        return self.choice(node)

    def choice(self, node: Node) -> Text:
        """Return the expression of a list of assignments."""
        raise NotImplementedError

    def operation(self, node: Node) -> Text:
        """Return the expression of an operator cell."""
        operator, inputs = node.cell.operator, node.inputs
        first, end = node.first, node.end
        if operator in REDUCTIONS:
            return Text(f"{REDUCTIONS[operator]}{self.wrapped(inputs[0])}", UNARY)
        if operator == "m":
            return self.selected(inputs[0], inputs[1][first:end], inputs[2][first:end])
        if operator == "~":
            return inverse(self.value(inputs[0][first:end]))
        if operator in ("&", "|", "^"):
            return self.binary(operator, inputs[0][first:end], inputs[1][first:end])
        if operator == "-" and len(inputs) == 1:
            return Text(f"-{self.wrapped(inputs[0][:end])}", UNARY)
        if operator in ("+", "-", "*"):
            return self.binary(operator, inputs[0][:end], inputs[1][:end])
        if operator == "<<":
            return self.binary("<<", inputs[0][:end], inputs[1])
        if operator == "u>>":
            return self.binary(">>", *inputs)
        if operator == "s>>":
            shifted = f"$signed({self.text(inputs[0])}) >>> {self.operand(inputs[1], '>>')}"
            return Text(f"$unsigned({shifted})")
        if operator in ("==", "!=") and len(inputs[0]) == 1 and inputs[1][0] < 2:
            return inverse(self.value(inputs[0]))  # the other result is folded
        if operator in ("==", "!="):
            return self.comparison(operator, *unextended(*inputs))
        if operator in ("u//", "u%"):
            symbol = {"u//": "/", "u%": "%"}[operator]
            zero = constant([0] * len(inputs[0]))
            quotient = self.binary(symbol, *inputs).text
            return Text(f"|{self.wrapped(inputs[1])} ? {quotient} : {zero}", TERNARY, "?")
        if operator[0] == "u":
            return self.binary(operator[1:], *unextended(*inputs))
        if operator[0] == "s" and operator[1:] in BINARY:
            left, right = (f"$signed({self.text(value)})" for value in inputs)
            return Text(f"{left} {operator[1:]} {right}", BINARY[operator[1:]], operator[1:])
        raise NotImplementedError(f"operator {operator} has no Verilog")

    def wrapped(self, nets: Sequence[int]) -> str:
        """Return the text of the operand of a unary operator."""
        part = self.value(nets)
        return part.text if part.precedence == ATOM else f"({part.text})"

    def binary(self, operator: str, left: Sequence[int], right: Sequence[int]) -> Text:
        """Return the expression of two operands."""
        text = f"{self.operand(left, operator)} {operator} "
        following = self.operand(right, operator if operator in "&|^" else "")
        return Text(text + following, BINARY[operator], operator)

    def comparison(self, operator: str, left: Sequence[int], right: Sequence[int]) -> Text:
        """Return the comparison of two operands, a constant by its name in an enumeration."""
        for one, other in ((left, right), (right, left)):
            if all(net < 2 for net in other):
                name = self.names.value_name(one, other)
                if name is not None:
                    text = f"{self.operand(one, operator)} {operator} {name}"
                    return Text(text, BINARY[operator], operator)
        return self.binary(operator, left, right)

    def selected(self, test: Sequence[int], high: Sequence[int], low: Sequence[int]) -> Text:
        """Return the conditional expression of one bit and two values."""
        return ternary(self.value(test), self.value(high), self.value(low))

    def selection(self, node: Node) -> Text:
        """Return the bits of a vector from a variable place on; those beyond its end are 0.

        They are 0 also for a signed vector, as in Amaranth's simulator. The vector is extended to
        the last place that the low bits of the offset select. Its high bits, if there are more
        than these, select only zeros.
        """
        value, offset = node.inputs
        stride, width = node.cell.stride, node.cell.width
        count = 0
        while count < len(offset) and (stride << count) < len(value):
            count += 1
        end = highest(offset[:count]) * stride + width
        vector = [*value, *[0] * (end - len(value))]
        if count:
            variable = self.names.vector(vector)
            self.used.add(variable)
            variable.mark(variable.first, variable.end)
            place = self.place(offset[:count], stride, (len(vector) - 1).bit_length())
            text = f"{variable.name}[{place}{f' +: {width}' if width > 1 else ''}]"
        else:
            text = self.text(vector[:width])
        if count == len(offset):
            return Text(text)
        is_beyond = Text(f"|{self.wrapped(offset[count:])}", UNARY)
        return ternary(is_beyond, Text(constant([0] * width)), Text(text))

    def place(self, offset: Sequence[int], stride: int, least: int) -> str:
        """Return the number of the bit that an offset selects, in words of `stride` bits.

        It has at least as many bits as the numbers of all bits of the vector, `least`.
        """
        is_shifted = stride & (stride - 1) == 0
        bits = [*[0] * (stride.bit_length() - 1), *offset] if is_shifted else list(offset)
        length = max(least, len(bits) if is_shifted else (highest(bits) * stride).bit_length())
        text = self.text([*bits, *[0] * (length - len(bits))])
        return text if is_shifted else f"{text} * {length}'d{stride}"


def highest(nets: Sequence[int]) -> int:
    """Return the highest number that nets may have."""
    return sum(1 << place for place, net in enumerate(nets) if net)


def unextended(left: Sequence[int], right: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Return two operands without the zeros at the top that both have, at least one bit of each."""
    width = len(left)
    while width > 1 and left[width - 1] == right[width - 1] == 0:
        width -= 1
    return left[:width], right[:width]


def repeated(text: str, times: int) -> str:
    """Return a text that is repeated in a concatenation."""
    return text if times == 1 else f"{{{times}{{{text}}}}}"
