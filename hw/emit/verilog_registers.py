"""Registers of emitted Verilog: each in one block, with what decides about its next value."""

import re
from collections import Counter
from collections.abc import Callable

__all__ = ["by_modules", "with_whole_registers"]

#: A register that takes over a value at its clock's edge, and nothing else.
COPY = re.compile(r"^  always @\((posedge [^)]+)\)\n    (\S+) +<= (\\\S+) ;\n", re.M)
#: A block that computes something whenever what it depends on changes.
COMPUTED = re.compile(
    r"^  always @\* begin\n    if \(wake_\d+ ?\) begin end\n(.*?)^  end\n", re.M | re.S
)
DECLARATION = re.compile(r"^  reg (?:\[\d+:\d+\] )?(\\\S+) ;\n", re.M)
WAKE = re.compile(r"^  reg (wake_\d+);\n  initial \1 = 0;\n", re.M)
NAME = re.compile(r"\\\S+|[A-Za-z_][\w$]*")
#: An assignment to an escaped name or a part of it, up to its value.
TARGET = re.compile(r"^( +)(\\\S+) (\[\d+(?::\d+)?\])? *= ", re.M)
ASSIGNMENT = re.compile(r"^ +(?![ (])[^\n]*? = ", re.M)
#: What comes last, whatever else: a constant for all of a register.
RESET = r"(?<!\*\)\n)(    if \([^\n]*\) begin\n      {name} +<= \d+'[hd]\w+;\n)    end\n\Z"


def with_whole_registers(verilog: str) -> str:
    """Return Verilog in which registers are assigned where their next values are decided.

    Yosys writes a register in two blocks: one computes its next value whenever anything that this
    depends on changes, its reset too, and one takes that over at the clock's edge. Put together
    they are shorter to read, and a simulator has nothing to do for a register between two edges,
    nor at an edge that leaves it as it is.
    """
    return by_modules(whole_in, verilog)


def by_modules(rewrite: Callable[[str], str], verilog: str) -> str:
    """Return Verilog with each module rewritten by itself."""
    return "".join(map(rewrite, re.split(r"^(?=module )", verilog, flags=re.M)))


def whole_in(module: str) -> str:
    """Return a module with each register in one block whose next value nothing else asks for."""
    copies = {match[3]: (match[1], match[2]) for match in COPY.finditer(module)}
    if not copies:
        return module
    uses, merged = Counter(NAME.findall(module)), set()

    def merge(block: re.Match) -> str:
        targets = [target[2] for target in TARGET.finditer(block[1])]
        if len(set(targets)) != 1 or len(targets) != len(ASSIGNMENT.findall(block[1])):
            return block[0]
        following = targets[0]
        # Its declaration and the one copy are the two other places.
        if following not in copies or uses[following] != len(targets) + 2:
            return block[0]
        merged.add(following)
        return whole(block[1], following, *copies[following])

    module = COMPUTED.sub(merge, module)
    module = COPY.sub(lambda copy: "" if copy[3] in merged else copy[0], module)
    module = DECLARATION.sub(lambda each: "" if each[1] in merged else each[0], module)
    return WAKE.sub(lambda wake: "" if module.count(wake[1]) == 2 else wake[0], module)


def whole(body: str, following: str, edge: str, register: str) -> str:
    """Return the block of a register, given what computes the value `following` of it."""
    name = re.escape(register)
    keeps = rf"\A    {re.escape(following)} += {name} ?;\n"
    assigned = register + " " * register.startswith("\\")
    body = TARGET.sub(
        lambda target: f"{target[1]}{assigned}{target[3] or ''} <= ", re.sub(keeps, "", body)
    )
    reset = re.search(RESET.format(name=name), body)
    if reset is not None and reset.start():
        otherwise = re.sub(r"^", "  ", body[: reset.start()], flags=re.M).rstrip(" ")
        body = f"{reset[1]}    end else begin\n{otherwise}    end\n"
    return f"  always @({edge}) begin\n{body}  end\n"
