"""Processes: statements of registers with one clock, and of variables without."""

from collections.abc import Sequence

from ..nets.choices import Case, Choice, Transfer
from ..nets.grouping import Process
from ..nets.nodes import Node
from ..variables.naming import Naming
from ..variables.plan import ModulePlan
from .conditions import Conditions
from .layout import WIDTH, wrapped
from .texts import constant, enclosed, inverse

__all__ = ["ProcessText"]


class ProcessText:
    """Text of the processes of a module.

    Parameters
    ----------
    plan : ModulePlan
    naming : Naming
    expressions : Conditions

    Attributes
    ----------
    initial : list of str
        Statements that give registers without a reset their first value.

    """

    def __init__(self, plan: ModulePlan, naming: Naming, expressions: Conditions):
        self.plan, self.naming, self.expressions = plan, naming, expressions
        self.initial: list[str] = []

    def lines(self, process: Process) -> list[str]:
        """Return the lines of a process; none if it is written as an expression."""
        if process.clock:
            return self.registers(process)
        (node, _), (default,) = process.members[0], process.defaults
        variable = self.naming.variables.get(node.index)
        if variable is None or not variable.is_register:
            return []
        first = f"{self.target(node, node.first, node.end)} = {self.expressions.text(default)};"
        body = self.body(process.tree, "    ", "=")
        return ["always @* begin", wrapped(first, "    "), *body, "  end"]

    def registers(self, process: Process) -> list[str]:
        """Return the lines of registers with one clock."""
        indent = "      " if process.reset else "    "
        body, resets = [], []
        for (node, _), default in zip(process.members, process.defaults, strict=True):
            target = self.target(node, node.first, node.end)
            init = constant([node.cell.init >> bit & 1 for bit in range(node.first, node.end)])
            if process.reset:
                resets.append(wrapped(f"{target} <= {init};", indent))
            else:
                self.initial.append(f"{target} = {init};")
            if list(default) != node.nets:
                text = f"{target} <= {self.expressions.text(default)};"
                body.append(wrapped(text, indent))
        body += self.body(process.tree, indent, "<=")
        head = f"always @({process.edge}edge {self.expressions.text([process.clock])})"
        if not process.reset:
            return [f"{head} begin", *body, "  end"]
        test = f"    if ({self.expressions.text([process.reset])}) begin"
        others = ["    end else begin", *body] if body else []
        return [head, test, *resets, *others, "    end"]

    def body(self, body: Sequence[Transfer | Choice], indent: str, sign: str) -> list[str]:
        """Return the lines of statements, with the sign of their assignments."""
        lines = []
        for statement in body:
            if isinstance(statement, Transfer):
                register = self.plan.merged.get(statement.node.index, statement.node)
                end = statement.start + len(statement.value)
                target = self.target(register, statement.start, end)
                text = self.expressions.text(statement.value)
                lines.append(wrapped(f"{target} {sign} {text};", indent))
            elif statement.is_chain or (len(statement.cases) == 1 and is_equality(statement)):
                lines += self.chain(statement, indent, sign)
            else:
                lines += self.cases(statement, indent, sign)
        return lines

    def chain(self, choice: Choice, indent: str, sign: str) -> list[str]:
        """Return the lines of a choice as `if` and `else`."""
        branches = self.branches(choice, indent, sign)
        lines: list[str] = []
        is_open = False
        for number, (test, body) in enumerate(branches):
            word = " ".join([
                *(["end"] if is_open else []),
                *(["else"] if number else []),
                *([f"if ({test})"] if test else []),
            ])
            head = wrapped(word, indent)
            # A following `else` would belong to an `if` inside.
            is_last = number + 1 == len(branches)
            is_hidden = not is_last and body[0].lstrip().startswith("if ")
            is_open = len(body) != 1 or is_hidden or len(head) + len(body[0]) > WIDTH
            if is_open:
                lines += [f"{head} begin", *body]
            else:
                lines.append(f"{head} {body[0].strip()}")
        return [*lines, f"{indent}end"] if is_open else lines

    def branches(self, choice: Choice, indent: str, sign: str) -> list[tuple[str, list[str]]]:
        """Return condition and lines of each case with statements; an empty one is the rest."""
        branches: list[tuple[str, list[str]]] = []
        skipped: list[str] = []
        for case in choice.cases:
            tests = list(skipped)
            if case.patterns is not None:
                test = self.expressions.condition(choice, case)
                if not case.body:
                    skipped.append(enclosed(inverse(test)))
                    continue
                tests.append(enclosed(test) if skipped else test.text)
            branches.append((" & ".join(tests), self.body(case.body, indent + "  ", sign)))
        return branches

    def cases(self, choice: Choice, indent: str, sign: str) -> list[str]:
        """Return the lines of a choice as `case`."""
        keyword = "casez" if any(has_free_bits(case) for case in choice.cases) else "case"
        lines = [wrapped(f"{keyword} ({self.expressions.text(choice.test)})", indent)]
        for case in choice.cases:
            labels = [self.expressions.label(choice, one) for one in case.patterns or ()]
            label = ", ".join(labels) or "default"
            body = self.body(case.body, indent + "    ", sign)
            if len(body) == 1 and "\n" not in body[0] and len(label) + len(body[0]) < WIDTH:
                lines.append(f"{indent}  {label}: {body[0].strip()}")
            elif not body:
                lines.append(wrapped(f"{label}: ;", indent + "  "))
            else:
                lines.append(wrapped(f"{label}: begin", indent + "  "))
                lines += [*body, f"{indent}  end"]
        if choice.cases[-1].patterns is not None:
            lines.append(f"{indent}  default: ;")
        return [*lines, f"{indent}endcase"]

    def target(self, node: Node, first: int, end: int) -> str:
        """Return bits of a cell's variable as the target of an assignment."""
        variable, bit = self.naming.homes.where[node.index << 16 | first]
        return variable.bits(bit, bit + end - first)


def has_free_bits(case: Case) -> bool:
    """Return whether a pattern of a case leaves bits free."""
    return any("-" in pattern for pattern in case.patterns or ())


def is_equality(choice: Choice) -> bool:
    """Return whether the first case of a choice has one value, or two."""
    case = choice.cases[0]
    return case.patterns is not None and len(case.patterns) <= 2 and not has_free_bits(case)
