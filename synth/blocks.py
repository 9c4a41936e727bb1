"""Cut emitted RTLIL into its distinct blocks, each with what it needs to stand alone."""

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

#: What a block is called while it is synthesised, so that equal blocks of different configs, whose
#: names differ, are synthesised once.
TOP = "top"

#: What Yosys makes up has numbers of as many digits wherever it begins to count: it goes by the
#: order of names, so that a block else became other gates elsewhere.
START = "autoidx 1000000\n"


@dataclass(frozen=True, kw_only=True)
class Block:
    """One distinct block: a module with the private submodules below it.

    Parameters
    ----------
    name : str
        Module name, without RTLIL's backslash.
    kind : str or None
        Name of its class, as in `synth.groups`, where it is known.
    text : str
        RTLIL of an empty module for each other block it instantiates, of the module, as `TOP`, and
        of its private submodules.
    names : mapping of str to str
        Which block each of these empty modules stands for.
    children : Counter of str
        How many instances of each other block it holds.
    """

    name: str
    kind: str | None
    text: str
    names: Mapping[str, str]
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
            modules[found[1][1:]] = chunk
    return modules


def split_blocks(text: str, kinds: Mapping[str, str] | None = None) -> dict[str, Block]:
    """Return the blocks of a design by name.

    Amaranth names a submodule elaborated in place ``parent.child``: it belongs to its parent's
    block, unless the class that `kinds` has of it is of another group. Every other module is a
    block.
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
    """Return the block to which each module belongs."""
    owners: dict[str, str] = {}
    groups: dict[str, str | None] = {}
    for module in sorted(modules):  # parents before what they hold
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
    """Return the block of a module and of those of its submodules that belong to it."""
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
        chunk = MODULE.sub(lambda found: f"module {renamed[found[1]]}", modules[module], count=1)
        chunks.append(CELL.sub(rename, chunk))
    stubs = [stub(short, modules[module]) for short, module in names.items()]
    text = "".join([START, *stubs, *chunks])
    return Block(name=name, kind=kind, text=text, names=names, children=children)


def stub(name: str, module: str) -> str:
    """Return an empty module of a module's ports.

    Kept, so that a child is counted even where nobody looks at its outputs.
    """
    ports = "\n".join(PORT.findall(module))
    return f"attribute \\blackbox 1\nattribute \\keep 1\nmodule \\{name}\n{ports}\nend\n"
