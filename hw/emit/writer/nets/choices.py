"""Conditional assignments as trees of choices, which one process of Verilog can have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .nodes import Assigned, Node
from .prepared import PreparedNetlist

__all__ = [
    "Assigned",
    "Case",
    "Choice",
    "Paths",
    "Transfer",
    "choice_tree",
    "conditions",
    "is_short",
    "live_assignments",
]

nir: Any = _nir  # no stub


@dataclass(frozen=True)
class Transfer:
    """Assignment of ``value`` to the bits of a node from ``start`` on."""

    node: Node
    start: int
    value: list[int]


@dataclass
class Case:
    """Statements for the patterns of a choice, each with the highest bit first; None for others."""

    patterns: tuple[str, ...] | None
    body: list["Transfer | Choice"] = field(default_factory=list)


@dataclass
class Choice:
    """The first case with a pattern that ``test`` matches.

    Parameters
    ----------
    test : list of int
        Nets, the lowest bit first; without constants.
    cases : list of Case

    """

    test: list[int]
    cases: list[Case]

    @cached_property
    def is_chain(self) -> bool:
        """Whether each case tests single bits, so that the cases are written as `if`, `else if`."""
        return all(
            case.patterns is None
            or len(self.test) == 1
            or all(len(pattern) - pattern.count("-") == 1 for pattern in case.patterns)
            for case in self.cases
        )

    def bits(self, case: Case) -> list[tuple[int, bool]]:
        """Return the bits that a case of a chain tests, each with its value."""
        pairs = []
        for pattern in case.patterns or ():
            for place, bit in enumerate(reversed(pattern)):
                if bit != "-":
                    pairs.append((self.test[place], bit == "1"))
        return pairs


def live_assignments(node: Node) -> list[Assigned]:
    """Return the assignments to live bits of an assignment list, without dead bits."""
    parts = (one.within(node.first, node.end) for one in node.assignments)
    return [part for part in parts if part is not None]


def conditions(assignments: Sequence[Assigned]) -> tuple[int, ...]:
    """Return the conditions of assignments, without repetition of neighbours."""
    order: list[int] = []
    for one in assignments:
        if not order or order[-1] != one.condition:
            order.append(one.condition)
    return tuple(order)


class Paths:
    """Paths of conditions: the choices around each, from the outermost, with the cases.

    Choices have numbers in the order of the source.
    """

    def __init__(self, prepared: PreparedNetlist):
        self.nodes = prepared.nodes
        self.known: dict[int, tuple[tuple[int, int], ...]] = {1: ()}

    def path(self, condition: int) -> tuple[tuple[int, int], ...]:
        """Return the path of a condition."""
        if condition not in self.known:
            index, case = condition >> 16, condition & 0xFFFF
            around = self.path(self.nodes[index].inputs[0][0])
            self.known[condition] = (*around, (index, case))
        return self.known[condition]

    def outermost(self, assignments: Sequence[Assigned]) -> tuple[int, ...] | None:
        """Return the outermost choices of assignments; None if one is not in the source's order.

        Lists with the same ones can be in one process.
        """
        paths = [self.path(condition) for condition in conditions(assignments)]
        if any(later <= earlier for earlier, later in pairwise(paths)):
            return None
        if any(not path for path in paths):
            return None
        return tuple(dict.fromkeys(path[0][0] for path in paths))


class Builder:
    """Builder of one tree from a list of assignments, or from those with equal outermost choices.

    Parameters
    ----------
    prepared : PreparedNetlist
    paths : Paths
    lists : list of (Node, list of Assigned)
        Node that is assigned to, and its assignments.

    """

    def __init__(
        self,
        prepared: PreparedNetlist,
        paths: Paths,
        lists: Sequence[tuple[Node, Sequence[Assigned]]],
    ):
        self.nodes = prepared.nodes
        self.lists = [(node, iter([*assigned, None])) for node, assigned in lists]
        self.heads = [next(assigned) for _, assigned in self.lists]
        self.order: Sequence[int] = conditions(lists[0][1])
        if len(lists) > 1:
            together = {one.condition for _, assigned in lists for one in assigned}
            self.order = sorted(together, key=paths.path)
        self.place = 0

    def transfers(self, condition: int) -> Iterator[Transfer]:
        """Yield the next assignments under a condition, of all lists."""
        for number, (node, rest) in enumerate(self.lists):
            head = self.heads[number]
            while head is not None and head.condition == condition:
                yield Transfer(node, head.start, head.value)
                head = next(rest)
            self.heads[number] = head

    def outer(self, condition: int, around: int) -> int | None:
        """Return the node of the choice in `around` that leads to a condition; None if none."""
        while condition != around:
            if condition == 1:
                return None
            index = condition >> 16
            condition = self.nodes[index].inputs[0][0]
            if condition == around:
                return index
        return None

    def fill(self, body: list, condition: int) -> None:
        """Add the statements under a condition, up to the first outside it."""
        while self.place < len(self.order):
            following = self.order[self.place]
            if following == condition:
                body.extend(self.transfers(condition))
                self.place += 1
                continue
            index = self.outer(following, condition)
            if index is None:
                return
            body.extend(self.choice(index))

    def choice(self, index: int) -> list[Transfer | Choice]:
        """Return the statements of a choice, as none if no case can be chosen."""
        cases, test = [], None
        for bit, net in enumerate(self.nodes[index].inputs[1]):
            case = Case(None)
            if net != 1:
                match = self.nodes[net >> 16]
                test = match.inputs[0]
                case.patterns = match.cell.patterns
            self.fill(case.body, index << 16 | bit)
            cases.append(case)
        return simplified(Choice(test or [], cases))


def simplified(choice: Choice) -> list[Transfer | Choice]:
    """Return a choice without constant bits of its test and without cases that have no effect."""
    test = choice.test
    places = [place for place, net in enumerate(test) if net > 1]
    cases: list[Case] = []
    for case in choice.cases:
        if case.patterns is None:
            cases.append(case)
            break
        patterns = []
        for pattern in case.patterns:
            bits = pattern[::-1]
            if all(net > 1 or bits[place] in f"-{net}" for place, net in enumerate(test)):
                patterns.append("".join(bits[place] for place in reversed(places)))
        if any(set(pattern) <= {"-"} for pattern in patterns):
            cases.append(Case(None, case.body))
            break
        if patterns:
            cases.append(Case(tuple(dict.fromkeys(patterns)), case.body))
    if len(cases) > 1 and len(places) == 1 and cases[1].patterns is not None:
        cases[1:] = [Case(None, cases[1].body)]
    while cases and not cases[-1].body:
        cases.pop()
    if len(cases) == 1 and cases[0].patterns is None:
        return list(cases[0].body)
    return [narrowed([test[place] for place in places], cases)] if cases else []


def narrowed(test: list[int], cases: list[Case]) -> Choice:
    """Return a choice without bits of its test that no pattern asks for."""
    places = [
        place
        for place in range(len(test))
        if any(pattern[-1 - place] != "-" for case in cases for pattern in case.patterns or ())
    ]
    if len(places) < len(test):
        for case in cases:
            if case.patterns is not None:
                case.patterns = tuple(
                    dict.fromkeys(
                        "".join(pattern[-1 - place] for place in reversed(places))
                        for pattern in case.patterns
                    )
                )
    return Choice([test[place] for place in places], cases)


def choice_tree(
    prepared: PreparedNetlist, paths: Paths, lists: Sequence[tuple[Node, Sequence[Assigned]]]
) -> list[Transfer | Choice]:
    """Return the statements of lists of assignments with the same outermost choices."""
    if not any(assigned for _, assigned in lists):
        return []
    builder = Builder(prepared, paths, lists)
    body: list[Transfer | Choice] = []
    builder.fill(body, 1)
    assert builder.place == len(builder.order)
    return body


#: Largest number of values of a conditional expression.
MOST_VALUES = 4


def is_short(body: Sequence[Transfer | Choice], node: Node) -> bool:
    """Return whether statements assign all live bits of a node by few conditional values."""
    return leaves(body, node) <= MOST_VALUES


def leaves(body: Sequence[Transfer | Choice], node: Node) -> int:
    """Return the number of values of a conditional expression, more than the most if it is none."""
    if not body:
        return 0
    if len(body) != 1:
        return MOST_VALUES + 1
    (statement,) = body
    if isinstance(statement, Transfer):
        return 1 if len(statement.value) == node.end - node.first else MOST_VALUES + 1
    if not statement.is_chain:
        if len(statement.cases) > 2 or statement.cases[0].patterns is None:
            return MOST_VALUES + 1
        if any("-" in pattern for pattern in statement.cases[0].patterns):
            return MOST_VALUES + 1
        if len(statement.cases) == 2 and statement.cases[1].patterns is not None:
            return MOST_VALUES + 1
    return 1 + sum(leaves(case.body, node) for case in statement.cases)
