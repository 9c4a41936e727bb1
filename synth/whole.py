"""Synthesis of a whole component in one run of Yosys, to check the sum of its blocks against."""

import json
from collections import Counter
from collections.abc import Mapping

from .blocks import START, modules_of, owners_of
from .gates import nand2_equivalents
from .synthesis import MAPPING, Synthesis, synthesis_of
from .yosys import run_yosys

__all__ = ["flat_nand2", "hierarchical"]

#: Kept, so that what nobody looks at is counted as it is where each block stands alone.
HIERARCHICAL = """
read_rtlil design.il
setattr -mod -set keep_hierarchy 1 -set keep 1 {blocks}
"""
RESULTS = ("words.json", "gates.json")


def hierarchical(text: str, top: str, kinds: Mapping[str, str]) -> dict[str, Synthesis]:
    """Return the synthesis of every block, from one run that flattens none of them.

    Parameters
    ----------
    text, top, kinds
        As `rtlil_of` returns them.

    """
    blocks = set(owners_of(modules_of(text), kinds).values())
    script = HIERARCHICAL.format(blocks=" ".join(sorted(blocks))) + MAPPING.format(top=top)
    texts = run_yosys(script, {"design.il": START + text}, RESULTS)
    words, gates = (json.loads(texts[name])["modules"] for name in RESULTS)
    return {name: synthesis_of(words[f"\\{name}"], gates[name], blocks) for name in blocks}


def flat_nand2(text: str, top: str) -> float:
    """Return the NAND2 equivalents of a design that is flattened before it is optimised."""
    script = "read_rtlil design.il" + MAPPING.format(top=top)
    texts = run_yosys(script, {"design.il": START + text}, RESULTS)
    module = json.loads(texts["gates.json"])["modules"][top]
    cells = Counter(cell["type"] for cell in module["cells"].values())
    return nand2_equivalents(
        Counter({cell: n for cell, n in cells.items() if not cell.startswith("$mem")})
    )
