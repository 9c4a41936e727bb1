"""Registers of emitted Verilog: each in one `always` block with its next-value logic."""

import re
from collections import Counter
from collections.abc import Callable

__all__ = ["by_modules", "with_whole_registers"]

#: A register that only copies a value at its clock edge.
COPY = re.compile(r"^  always @\((posedge [^)]+)\)\n    (\S+) +<= (\\\S+) ;\n", re.M)
#: A combinational `always` block.
COMPUTED = re.compile(
    r"^  always @\* begin\n    if \(wake_\d+ ?\) begin end\n(.*?)^  end\n", re.M | re.S
)
DECLARATION = re.compile(r"^  reg (?:\[\d+:\d+\] )?(\\\S+) ;\n", re.M)
WAKE = re.compile(r"^  reg (wake_\d+);\n  initial \1 = 0;\n", re.M)
ESCAPED = re.compile(r"\\\S+")
#: An assignment to an escaped name or a part of it, up to its value.
TARGET = re.compile(r"^( +)(\\\S+) (\[\d+(?::\d+)?\])? *= ", re.M)
ASSIGNMENT = re.compile(r"^ +(?![ (])[^\n]*? = ", re.M)
#: The first assignment, of a register's present value.
KEEPS = re.compile(r"\A    (\S+) += (\S+?) ?;\n")
#: The last assignment: a reset of the whole register to a constant.
RESET = re.compile(
    r"(?<!\*\)\n)(    if \([^\n]*\) begin\n      (\S+) +<= \d+'[hd]\w+;\n)    end\n\Z"
)


def with_whole_registers(verilog: str) -> str:
    """Return Verilog in which each register is assigned in the block of its next-value logic.

    Yosys writes a register in two blocks: a combinational one with its next value and reset, and
    one that copies the value at the clock edge. Merged, they are shorter to read, and a simulator
    evaluates a register only at clock edges that change it.
    """
    return by_modules(whole_in, verilog)


def by_modules(rewrite: Callable[[str], str], verilog: str) -> str:
    """Return Verilog with each module rewritten on its own."""
    return "".join(map(rewrite, re.split(r"^(?=module )", verilog, flags=re.M)))


def whole_in(module: str) -> str:
    """Return a module with merged registers; a next value with other readers keeps its block."""
    copies = {match[3]: (match[1], match[2]) for match in COPY.finditer(module)}
    if not copies:
        return module
    uses, merged = Counter(ESCAPED.findall(module)), set()

    def merge(block: re.Match) -> str:
        targets = [target[2] for target in TARGET.finditer(block[1])]
        if len(set(targets)) != 1 or len(targets) != len(ASSIGNMENT.findall(block[1])):
            return block[0]
        following = targets[0]
        # Two more uses: the declaration and the copy.
        if following not in copies or uses[following] != len(targets) + 2:
            return block[0]
        merged.add(following)
        return whole(block[1], following, *copies[following])

    module = COMPUTED.sub(merge, module)
    module = COPY.sub(lambda copy: "" if copy[3] in merged else copy[0], module)
    module = DECLARATION.sub(lambda match: "" if match[1] in merged else match[0], module)
    return WAKE.sub(lambda wake: "" if module.count(wake[1]) == 2 else wake[0], module)


def whole(body: str, following: str, edge: str, register: str) -> str:
    """Return the block of a register from the body that computes its next value `following`."""
    keeps = KEEPS.match(body)
    if keeps is not None and keeps.groups() == (following, register):
        body = body[keeps.end() :]
    assigned = register + " " * register.startswith("\\")
    body = TARGET.sub(lambda target: f"{target[1]}{assigned}{target[3] or ''} <= ", body)
    reset = RESET.search(body)
    if reset is not None and reset[2] != register:
        reset = None
    if reset is not None and reset.start():
        otherwise = re.sub(r"^", "  ", body[: reset.start()], flags=re.M).rstrip(" ")
        body = f"{reset[1]}    end else begin\n{otherwise}    end\n"
    return f"  always @({edge}) begin\n{body}  end\n"
