"""Splitting of emitted RTLIL into its distinct blocks, each self-contained."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from .groups import group_of

__all__ = ["START", "TOP", "Block", "modules_of", "owners_of", "split_blocks"]

MODULE = re.compile(r"^module (\\\S+)$", re.MULTILINE)
CELL = re.compile(r"^(  cell )(\\\S+)( )", re.MULTILINE)
PORT = re.compile(r"^  wire .*\b(?:input|output|inout) \d+ +(?:signed +)?\\\S+$", re.MULTILINE)
END = re.compile(r"^end\n", re.MULTILINE)

#: Name of a block during synthesis. Blocks of equal text but different config names are then
#: synthesised once.
TOP = "top"

#: Start of Yosys's automatic numbering. All numbers then have equally many digits; Yosys sorts by
#: name, so otherwise the gates of a block would depend on the start of the count.
START = "autoidx 1000000\n"


@dataclass(frozen=True, kw_only=True)
class Block:
    """One distinct block: a module with the private submodules below it.

    Parameters
    ----------
    name : str
        Module name, without RTLIL's backslash.
    kind : str or None
        Name of its class, as in `synth.groups`, if known.
    text : str
        RTLIL of the module, renamed to `TOP`, its private submodules, and an empty module for each
        other block it instantiates.
    names : mapping of str to str
        Block that each of these empty modules stands for.
    children : Counter of str
        Number of instances of each other block in it.

    """

    name: str
    kind: str | None
    text: str
    names: Mapping[str, str]
    children: Counter[str]


def modules_of(text: str) -> dict[str, str]:
    """Return the text of each module, with its leading attributes."""
    modules = {}
    start = 0
    for end in END.finditer(text):
        chunk = text[start : end.end()]
        start = end.end()
        match = MODULE.search(chunk)
        if match:
            modules[match[1][1:]] = chunk
    return modules


def split_blocks(text: str, kinds: Mapping[str, str] | None = None) -> dict[str, Block]:
    """Return the blocks of a design by name.

    Amaranth names a submodule elaborated in place ``parent.child``. It belongs to its parent's
    block, unless its class in `kinds` is of another group. Every other module is a block.
    """
    modules = modules_of(text)
    owners = owners_of(modules, kinds or {})
    members: dict[str, list[str]] = {}
    for module, owner in owners.items():
        members.setdefault(owner, []).append(module)
    return {
        name: block_of(name, members[name], modules, owners, (kinds or {}).get(name))
        for name in sorted(members)
    }


def owners_of(modules: Mapping[str, str], kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the block that each module belongs to."""
    owners: dict[str, str] = {}
    groups: dict[str, str | None] = {}
    for module in sorted(modules):  # parents before their submodules
        parent = module.rpartition(".")[0]
        while parent and parent not in modules:
            parent = parent.rpartition(".")[0]
        group = group_of(kinds.get(module))
        stays = parent and group in (None, groups[parent])
        owners[module] = owners[parent] if stays else module
        groups[module] = groups[parent] if stays else group
    return owners


def block_of(
    name: str,
    members: list[str],
    modules: Mapping[str, str],
    owners: Mapping[str, str],
    kind: str | None,
) -> Block:
    """Return the block of a module and its private submodules."""
    children: Counter[str] = Counter()
    renamed = {f"\\{module}": f"\\{TOP}{module[len(name) :]}" for module in members}
    names: dict[str, str] = {}

    def rename(cell: re.Match) -> str:
        module = cell[2][1:]
        if owners.get(module, name) != name:
            children[module] += 1
            if cell[2] not in renamed:
                renamed[cell[2]] = f"\\block_{len(names)}"
                names[renamed[cell[2]][1:]] = module
        return cell[1] + renamed.get(cell[2], cell[2]) + cell[3]

    chunks = []
    for module in members:
        chunk = MODULE.sub(lambda match: f"module {renamed[match[1]]}", modules[module], count=1)
        chunks.append(CELL.sub(rename, chunk))
    stubs = [stub(short, modules[module]) for short, module in names.items()]
    text = "".join([START, *stubs, *chunks])
    return Block(name=name, kind=kind, text=text, names=names, children=children)


def stub(name: str, module: str) -> str:
    """Return an empty module with a module's ports.

    The module has the attribute ``keep``, so that a child counts even if its outputs are unused.
    """
    ports = "\n".join(PORT.findall(module))
    return f"attribute \\blackbox 1\nattribute \\keep 1\nmodule \\{name}\n{ports}\nend\n"
