"""Conditions of cases, and lists of assignments as conditional expressions."""

from collections.abc import Sequence

from ..nets.choices import Case, Choice, Transfer
from ..nets.nodes import Node
from ..variables.plan import ModulePlan
from .bit_names import BitNames
from .expressions import Expressions
from .texts import BINARY, Text, constant, enclosed, inverse, ternary

__all__ = ["Conditions"]


class Conditions(Expressions):
    """Expressions of a module, also of its choices.

    Parameters
    ----------
    plan : ModulePlan
    names : BitNames

    """

    def __init__(self, plan: ModulePlan, names: BitNames):
        super().__init__(plan.prepared.nodes, names)
        self.plan = plan

    def choice(self, node: Node) -> Text:
        """Return a list of assignments as a conditional expression."""
        process = self.plan.process_of[node.index]
        return self.conditional(process.tree, process.defaults[0])

    def conditional(self, body: Sequence[Transfer | Choice], default: Sequence[int]) -> Text:
        """Return statements that assign all bits as an expression."""
        if not body:
            return self.value(default)
        (statement,) = body
        if isinstance(statement, Transfer):
            return self.value(statement.value)
        rest = self.conditional([], default)
        cases = list(statement.cases)
        if cases[-1].patterns is None:
            rest = self.conditional(cases.pop().body, default)
        for case in reversed(cases):
            test = self.condition(statement, case)
            rest = ternary(test, self.conditional(case.body, default), rest)
        return rest

    def condition(self, choice: Choice, case: Case) -> Text:
        """Return the condition of a case."""
        if choice.is_chain:
            pairs = [(self.value([net]), is_high) for net, is_high in choice.bits(case)]
            parts = [part if is_high else inverse(part) for part, is_high in pairs]
        else:
            values = ([int(bit) for bit in reversed(one)] for one in case.patterns or ())
            parts = [self.comparison("==", choice.test, bits) for bits in values]
        if len(parts) == 1:
            return parts[0]
        return Text(" | ".join(map(enclosed, parts)), BINARY["|"], "|")

    def label(self, choice: Choice, pattern: str) -> str:
        """Return the label of a case."""
        if "-" in pattern:
            return f"{len(pattern)}'b{pattern.replace('-', '?')}"
        bits = [int(bit) for bit in reversed(pattern)]
        return self.names.value_name(choice.test, bits) or constant(bits)
