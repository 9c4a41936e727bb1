"""Cut emitted RTLIL into its distinct blocks, each with what it needs to stand alone."""

import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["Block", "split_blocks"]

MODULE = re.compile(r"^module (\\\S+)$", re.MULTILINE)
CELL = re.compile(r"^  cell (\\\S+) ", re.MULTILINE)
PORT = re.compile(r"^  wire .*\b(?:input|output|inout) \d+ +(?:signed +)?\\\S+$", re.MULTILINE)
END = re.compile(r"^end\n", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One distinct block: a module with the private submodules below it.

    Parameters
    ----------
    name : str
        Module name, without RTLIL's backslash.
    text : str
        RTLIL of the module and of its private submodules.
    stub : str
        RTLIL of an empty module of the same ports.
    children : Counter of str
        How many instances of each other block it holds.

    """

    name: str
    text: str
    stub: str
    children: Counter[str]


def modules_of(text: str) -> dict[str, str]:
    """Return the text of each module, attributes in front of it included."""
    modules = {}
    start = 0
    for end in END.finditer(text):
        chunk = text[start : end.end()]
        start = end.end()
        found = MODULE.search(chunk)
        if found:
            modules[found[1]] = chunk
    return modules


def split_blocks(text: str) -> dict[str, Block]:
    """Return the blocks of a design by name.

    Amaranth names a submodule elaborated in place ``parent.child``: it belongs to its parent's
    block. Every other module is a block.
    """
    modules = modules_of(text)

    def owner(module: str) -> str:
        parent = module.rpartition(".")[0]
        while parent and parent not in modules:
            parent = parent.rpartition(".")[0]
        return owner(parent) if parent else module

    owners = {module: owner(module) for module in modules}
    blocks = {}
    for name in sorted(set(owners.values())):
        chunks = [modules[module] for module in modules if owners[module] == name]
        used = Counter(cell for chunk in chunks for cell in CELL.findall(chunk))
        children = {cell: n for cell, n in used.items() if owners.get(cell, name) != name}
        ports = "\n".join(PORT.findall(modules[name]))
        blocks[name[1:]] = Block(
            name=name[1:],
            text="".join(chunks),
            # Kept, so that a child is counted even where nobody looks at its outputs.
            stub=f"attribute \\blackbox 1\nattribute \\keep 1\nmodule {name}\n{ports}\nend\n",
            children=Counter({child[1:]: n for child, n in children.items()}),
        )
    return blocks
