"""Unique names across the blocks of a design, so that each is synthesised as if it were alone."""

import re
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter

from .blocks import CELL, PORT, Block, modules_of, owners_of, split_blocks

__all__ = ["with_unique_names"]

NAME = re.compile(r"([\\$])(\S+)")
MEMORY = re.compile(r'^(    parameter \\MEMID "\\?[\\$])')
CONNECTION = re.compile(r"^(    connect )(\S+)(.*)$")
#: Lines that name no wire, cell or memory of the module.
OTHER_LINES = ("module ", "attribute ", "parameter ")


def with_unique_names(text: str, kinds: Mapping[str, str]) -> str:
    """Return a design with the number of its block in front of every name in a module.

    Yosys orders wires and cells by first occurrence of their names, even in other blocks. With
    these prefixes no block sees names of another. Each sees its own names in the order of its
    `Block`: first those it shares with ports of the blocks it instantiates.

    Parameters
    ----------
    text, kinds
        As `rtlil_of` returns them.

    """
    modules = modules_of(text)
    owners = owners_of(modules, kinds)
    blocks = split_blocks(text, kinds)
    prefixes = {name: f"{number}:" for number, name in enumerate(blocks)}
    module_prefixes = {module: prefixes[owner] for module, owner in owners.items()}
    # Children first, because parents name their children's ports.
    children = {name: set(block.children) for name, block in blocks.items()}
    chunks: list[str] = []
    for name in TopologicalSorter(children).static_order():
        chunks.append(names_met_first(blocks[name], modules, prefixes[name]))
        for module in sorted(owners):
            if owners[module] == name:
                lines = renamed_lines(modules[module], prefixes[name], module_prefixes)
                chunks.append("\n".join(lines))
    return "".join(chunks)


def names_met_first(block: Block, modules: Mapping[str, str], prefix: str) -> str:
    """Return an uninstantiated module with the port names of a block's stubs.

    Some of them are also names of the block's own wires.
    """
    ports = [port for child in block.names.values() for port in PORT.findall(modules[child])]
    names = dict.fromkeys(port.rpartition(" ")[2] for port in ports)
    wires = "".join(f"  wire {renamed(name, prefix)}\n" for name in names)
    return f"module \\{prefix}names\n{wires}end\n"


def renamed_lines(module: str, prefix: str, prefixes: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a module with a prefix before each name.

    Ports of a cell get the prefix of its module in `prefixes`; ports of Yosys's cells get none.
    """
    ports = ""
    for line in module.split("\n"):
        if cell := CELL.match(line):
            ports = prefixes[cell[2][1:]]
            yield cell[0] + renamed(line[cell.end() :], prefix)
        elif line.startswith("  cell $"):
            ports = ""
            kind, _, name = line.rpartition(" ")
            yield f"{kind} {renamed(name, prefix)}"
        elif connection := CONNECTION.match(line):
            start, port, signal = connection.groups()
            yield start + renamed(port, ports) + renamed(signal, prefix)
        elif MEMORY.match(line):
            yield MEMORY.sub(lambda found: found[1] + prefix, line)
        elif line.lstrip().startswith(OTHER_LINES):
            yield line
        else:
            yield renamed(line, prefix)


def renamed(text: str, prefix: str) -> str:
    """Return RTLIL text with a prefix in every name."""
    return NAME.sub(lambda name: name[1] + prefix + name[2], text)
