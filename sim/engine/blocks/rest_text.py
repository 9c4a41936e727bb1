"""Verilog of the top without its blocks: their ports become ports of the module."""

import re
from collections.abc import Mapping

from ....hw.emit.emission import EmittedPort

__all__ = ["instances_below", "ports_of", "rest_port", "rest_text", "split_modules"]

IDENTIFIER = r"(?:\\\S+|[A-Za-z_][\w$]*)"
CELL = re.compile(rf"^  ({IDENTIFIER}) +({IDENTIFIER}) +\(\n((?:    \..*\n)*)  \);\n", re.M)
CONNECTION = re.compile(r"^    \.(\w+)\((.*?)\),?$", re.M)
HEADER = re.compile(r"^module (\S+?) ?\(.*?\);\n", re.M | re.S)
PORT = re.compile(r"^  (input|output) (?:\[(\d+):0\] )?(\S+);\n", re.M)
DECLARATION = re.compile(r"^  (?:wire|reg) [^=\n]*;\n", re.M)
ASSIGNMENT = re.compile(r"^  assign (.+?) += (.+);\n", re.M)


def split_modules(verilog: str) -> dict[str, str]:
    """Return the text of each module of a Verilog text."""
    parts = re.split(r"^(?=module )", verilog, flags=re.M)[1:]
    return {re.split(r"[ (]", part, maxsplit=2)[1]: part for part in parts}


def instances_below(text: str) -> dict[str, str]:
    """Return the module of each instance in a module, by the name of the instance."""
    return {name: module for module, name, _ in CELL.findall(text)}


def ports_of(text: str) -> tuple[EmittedPort, ...]:
    """Return the ports of a module."""
    return tuple(
        EmittedPort(name, direction, int(high or 0) + 1)
        for direction, high, name in PORT.findall(text)
    )


def rest_port(instance: str, port: str) -> str:
    """Return the port of the rest for a port of a block."""
    return f"{instance}${port}"


def rest_text(
    text: str,
    blocks: Mapping[str, str],
    ports: Mapping[str, tuple[EmittedPort, ...]],
    outputs: set[str],
) -> str:
    """Return the text of a top whose blocks are outside of it, without what only they use.

    The port of a block becomes `rest_port`: an input if the remaining text uses that output of the
    block; an output if it is in `outputs`. Inputs of the top that the remaining text does not use
    are dropped, and so are outputs of the top that are not in `outputs`.

    Parameters
    ----------
    text : str
        Text of the top.
    blocks : mapping of str to str
        Module of each block, by the name of its instance.
    ports : mapping of str to tuple of EmittedPort
        Ports of each module.
    outputs : set of str
        Outputs of the new text.

    """
    cells = {name: dict(CONNECTION.findall(cell)) for _, name, cell in CELL.findall(text)}
    old = ports_of(text)
    body = PORT.sub("", HEADER.sub("", text, count=1))
    body = CELL.sub(lambda cell: "" if cell[2] in blocks else cell[0], body)
    declarations = DECLARATION.findall(body)
    assignments = ASSIGNMENT.findall(body)
    body = ASSIGNMENT.sub("", DECLARATION.sub("", body))
    new: list[EmittedPort] = []
    inputs: dict[str, EmittedPort] = {}
    for name, module in blocks.items():
        for port in ports[module]:
            whole, value = rest_port(name, port.name), cells[name].get(port.name, "")
            outside = EmittedPort(whole, "output", port.width)
            if port.direction == "output":
                assignments.append((value, whole))
                inputs[whole] = EmittedPort(whole, "input", port.width)
            elif whole in outputs:
                assignments.append((whole, value))
                new.append(outside)
    inputs |= {port.name: port for port in old if port.direction == "input"}
    new += [port for port in old if port.direction == "output" and port.name in outputs]
    live, used = live_assignments(assignments, identifiers(body) | outputs)
    new += [port for name, port in inputs.items() if name in used]
    return "".join([
        f"{text.split('(', 1)[0].rstrip()} ({', '.join(port.name for port in new)});\n",
        *(f"  {port.direction} {bits(port)}{port.name};\n" for port in new),
        *(line for line in declarations if used & identifiers(line)),
        *(f"  assign {target} = {value};\n" for target, value in live),
        body,
    ])


def identifiers(text: str) -> set[str]:
    """Return all identifiers and keywords in a text, without the ports of instances."""
    return set(re.findall(rf"(?<![.\w$]){IDENTIFIER}", text))


def live_assignments(
    assignments: list[tuple[str, str]], used: set[str]
) -> tuple[list[tuple[str, str]], set[str]]:
    """Return the assignments that `used` names depend on, and all names used with them."""
    by_name: dict[str, list[int]] = {}
    for number, (target, _) in enumerate(assignments):
        for name in identifiers(target):
            by_name.setdefault(name, []).append(number)
    live: set[int] = set()
    used, waiting = set(used), list(used)
    while waiting:
        for number in by_name.get(waiting.pop(), []):
            if number not in live:
                live.add(number)
                sources = identifiers(assignments[number][1]) - used
                used |= sources
                waiting += sources
    return [assignments[number] for number in sorted(live)], used


def bits(port: EmittedPort) -> str:
    """Return the range of a declaration."""
    return f"[{port.width - 1}:0] " if port.width > 1 else ""
