"""Synthesis of a whole component in one run of Yosys, to check the sum of its blocks against."""

import json
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass

from .blocks import START, modules_of, owners_of
from .gates import nand2_equivalents
from .synthesis import COUNT, ELABORATION, GATES, MAPPING, WORDS, WRITE, Synthesis, synthesis_of
from .unique_names import with_unique_names
from .yosys import run_at_once

__all__ = ["Whole", "flat_nand2", "hierarchical"]

#: Keeps blocks with unused outputs, which also count when each block stands alone.
KEEP = "setattr -mod -set keep_hierarchy 1 -set keep 1 {blocks}\n"
RESULTS = ("words.json", "gates.json")


@dataclass(frozen=True, kw_only=True)
class Whole:
    """Result of one Yosys run on a design.

    Parameters
    ----------
    blocks : mapping of str to Synthesis
        One instance of each block, without the blocks it instantiates.
    instances : Counter of str
        Number of instances of each block.

    """

    blocks: Mapping[str, Synthesis]
    instances: Counter[str]

    @property
    def nand2(self) -> float:
        """NAND2 equivalents of all instances, without memories."""
        return sum(
            nand2_equivalents(self.blocks[name].gates) * times
            for name, times in self.instances.items()
        )


def hierarchical(text: str, top: str, kinds: Mapping[str, str]) -> Whole:
    """Return the synthesis of a design in one run that flattens no block.

    Parameters
    ----------
    text, top, kinds
        As `rtlil_of` returns them.

    """
    blocks = sorted(set(owners_of(modules_of(text), kinds).values()))
    script = "".join([
        "read_rtlil design.il\n",
        KEEP.format(blocks=" ".join(blocks)),
        ELABORATION.format(top=top),
        each(blocks, WORDS),
        COUNT,
        each(blocks, GATES),
        WRITE,
    ])
    texts = run_at_once(script, {"design.il": START + with_unique_names(text, kinds)}, RESULTS)
    words, gates = (json.loads(texts[name])["modules"] for name in RESULTS)
    return Whole(
        blocks={
            name: synthesis_of(words[f"\\{name}"], gates[name], set(blocks)) for name in blocks
        },
        instances=instances_below(top, gates, set(blocks)),
    )


def instances_below(top: str, modules: Mapping[str, dict], blocks: Container[str]) -> Counter[str]:
    """Return the number of instances of each block in a netlist, `top` included."""
    instances = Counter([top])
    for cell in modules[top]["cells"].values():
        if cell["type"] in blocks:
            instances += instances_below(cell["type"], modules, blocks)
    return instances


def each(blocks: list[str], passes: str) -> str:
    """Return commands that run `passes` on one block after the other.

    Passes otherwise iterate until nothing changes in any of their modules.
    """
    return "".join(f"select -module {block}\n{passes}select -clear\n" for block in blocks)


def flat_nand2(text: str, top: str) -> float:
    """Return the NAND2 equivalents of a design flattened before optimisation."""
    script = "read_rtlil design.il" + MAPPING.format(top=top)
    texts = run_at_once(script, {"design.il": START + text}, RESULTS)
    module = json.loads(texts["gates.json"])["modules"][top]
    cells = Counter(cell["type"] for cell in module["cells"].values())
    return nand2_equivalents(
        Counter({cell: n for cell, n in cells.items() if not cell.startswith("$mem")})
    )
