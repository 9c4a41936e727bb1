"""Patch: Amaranth's simulator executes shorter Python for the same values.

Reason: it masks every operand, also those that are in their range by construction; it finds each
signal in a list and calls a function for each output of a process, changed or not; it computes the
shape of an expression again for each use. Together a third of the time of a bench or more.
Upstream: not reported.
Removal: when `amaranth.sim._pyrtl` leaves out masks of unsigned signals.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

from amaranth.hdl import _ast
from amaranth.sim import _pyrtl  # pyright: ignore[reportAttributeAccessIssue]  # no stub

from .known_shapes import remembered

__all__ = ["quick_simulation"]

#: Without types: the stubs have no private attributes.
ast: Any = _ast
pyrtl: Any = _pyrtl

#: Operators whose Python result may be outside the range of their shape.
OUTSIDE = ("~", "u", "s", "//", "%")
#: Operators with a Python integer as result: always, and if an operand is one.
INTEGERS, EITHER = ("+", "-", "*", "<<", ">>"), ("&", "|", "^")
#: Uses of a signal's value from which it is read only once.
READ_ONCE = 3

SLOT = re.compile(r"slots\[(\d+)\]")
CURRENT = re.compile(r"slots\[(\d+)\]\.curr\b")
UPDATE = re.compile(r"^( *)slots\[(\d+)\]\.update\((next_\d+), ", re.MULTILINE)
HEADER = "def run():\n"


def is_in_range(value: Any) -> bool:
    """Return whether the Python expression of a value has that value, without a mask."""
    return type(value) is not ast.Operator or value.operator not in OUTSIDE


def is_integer(value: Any) -> bool:
    """Return whether the Python expression of a value is an integer and no boolean."""
    if type(value) is ast.Operator:
        if value.operator in EITHER:
            return any(map(is_integer, value.operands))
        return value.operator in INTEGERS
    if type(value) is ast.SwitchValue:
        return all(is_integer(branch) for _, branch in value.cases)
    return type(value) in (ast.Const, ast.Signal, ast.Slice, ast.Part, ast.Concat)


def masked(compiler, value: Any) -> str:
    """Return the Python expression of a value's bits."""
    text, shape = compiler(value), value.shape()
    if is_in_range(value) and not shape.signed:
        return text
    return f"({(1 << shape.width) - 1:#x} & {text})"


def signed(compiler, value: Any) -> str:
    """Return the Python expression of a value, negative if its sign bit is set."""
    if is_in_range(value):
        return compiler(value)
    text, shape = masked(compiler, value), value.shape()
    return f"sign({text}, {-1 << (shape.width - 1):#x})" if shape.signed else text


UNARY = {
    "~": lambda text, width: f"(~{text})",
    "b": lambda text, width: f"bool({text})",
    "r|": lambda text, width: f"(0 != {text})",
    "r&": lambda text, width: f"({(1 << width) - 1} == {text})",
    "r^": lambda text, width: f"(format({text}, 'b').count('1') % 2)",
}
FUNCTIONS = {"//": "zdiv", "%": "zmod"}


def on_operator(self, value):
    """Return the Python expression of an operator; only operands out of range are masked."""
    operator = value.operator
    if len(value.operands) == 1:
        (operand,) = value.operands
        if operator in ("u", "s"):
            return self(operand)
        if operator == "-":
            return f"(-{signed(self, operand)})"
        return UNARY[operator](masked(self, operand), len(operand))
    left, right = (signed(self, operand) for operand in value.operands)
    if operator in FUNCTIONS:
        return f"{FUNCTIONS[operator]}({left}, {right})"
    return f"({left} {operator} {right})"


def on_slice(self, value):
    """Return the Python expression of a slice; one up to the top bit is not masked."""
    inner = value.value
    text = self(inner)
    shifted = f"({text} >> {value.start})" if value.start else text
    shape = inner.shape()
    if value.start and value.stop == shape.width and is_in_range(inner) and not shape.signed:
        return shifted
    return f"({(1 << value.stop - value.start) - 1:#x} & {shifted})"


def on_concat(self, value):
    """Return the Python expression of a concatenation."""
    parts, offset = [], 0
    for part in value.parts:
        parts.append(f"({masked(self, part)} << {offset})")
        offset += len(part)
    return f"({' | '.join(parts)})" if parts else "0"


def on_assign(self, statement):
    """Emit an assignment; an unsigned signal takes a value that fits as it is."""
    target, value = statement.lhs, statement.rhs
    if type(target) is ast.Signal and not target.shape().signed:
        shape = value.shape()
        fits = not shape.signed and shape.width <= len(target)
        if fits and is_in_range(value) and is_integer(value):
            text = self.rhs(value)
            if self.lhs.outputs is not None:
                self.lhs.outputs.add(target)
            self.emitter.append(f"next_{self.state.get_signal(target)} = {text}")
            return
    self.lhs(target)(self.rhs.sign(value))


@lru_cache(maxsize=4096)
def compiled(text: str, filename: str, mode: str):
    """Return the code of a process whose signals are arguments, and so local variables.

    Other code is compiled as it is.
    """
    if HEADER not in text:
        return compile(text, filename, mode)
    reads: dict[str, int] = {}
    for place in CURRENT.findall(text):
        reads[place] = reads.get(place, 0) + 1
    often = sorted(place for place, count in reads.items() if count >= READ_ONCE)
    text = UPDATE.sub(r"\1if slots[\2].next != \3: slots[\2].update(\3, ", text)
    text = CURRENT.sub(
        lambda match: f"c{match[1]}" if reads[match[1]] >= READ_ONCE else match[0], text
    )
    loads = "".join(f"    c{place} = slots[{place}].curr\n" for place in often)
    text = text.replace(HEADER, HEADER + loads, 1)
    places = sorted(set(SLOT.findall(text)), key=int)
    arguments = ", ".join(f"s{place}=slots[{place}]" for place in places)
    body = SLOT.sub(r"s\1", text.replace(HEADER, "", 1))
    return compile(f"def run({arguments}):\n{body}", filename, mode)


#: Methods by class, and what they become.
REPLACED: tuple[tuple[Any, str, Any], ...] = (
    (pyrtl._RHSValueCompiler, "sign", signed),
    (pyrtl._RHSValueCompiler, "on_Operator", on_operator),
    (pyrtl._RHSValueCompiler, "on_Slice", on_slice),
    (pyrtl._RHSValueCompiler, "on_Concat", on_concat),
    (pyrtl._StatementCompiler, "on_Assign", on_assign),
    *((kind, "shape", remembered(kind.shape)) for kind in (ast.Operator, ast.Concat, ast.Slice)),
)


@contextmanager
def quick_simulation() -> Iterator[None]:
    """Make simulators that take less time; the values of all signals are the same."""
    with ExitStack() as stack:
        for kind, name, replacement in REPLACED:
            stack.callback(setattr, kind, name, getattr(kind, name))
            setattr(kind, name, replacement)
        pyrtl.compile = compiled
        stack.callback(delattr, pyrtl, "compile")
        yield
