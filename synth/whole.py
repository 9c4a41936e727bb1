"""Synthesis of a whole component in one run of Yosys, to check the sum of its blocks against."""

import json
from collections import Counter
from collections.abc import Mapping

from .blocks import modules_of, owners_of
from .gates import nand2_equivalents
from .memories import memories_of
from .synthesis import MAPPING
from .yosys import run_yosys

__all__ = ["flat_nand2", "hierarchical_gates"]

#: Kept, so that what nobody looks at is counted as it is where each block stands alone.
HIERARCHICAL = """
read_rtlil design.il
setattr -mod -set keep_hierarchy 1 -set keep 1 {blocks}
"""


def hierarchical_gates(
    text: str, top: str, kinds: Mapping[str, str]
) -> tuple[dict[str, Counter[str]], dict[str, Counter]]:
    """Return the gates and memories of every block, from one run that flattens none of them.

    Parameters
    ----------
    text, top, kinds
        As `rtlil_of` returns them.
    """
    blocks = set(owners_of(modules_of(text), kinds).values())
    script = HIERARCHICAL.format(blocks=" ".join(sorted(blocks))) + MAPPING.format(top=top)
    modules = json.loads(run_yosys(script, {"design.il": text}, ["gates.json"])["gates.json"])
    gates, memories = {}, {}
    for name in blocks:
        module = modules["modules"][name]
        cells = Counter(cell["type"] for cell in module["cells"].values())
        gates[name] = Counter({
            cell: count
            for cell, count in cells.items()
            if cell not in blocks and not cell.startswith("$mem")
        })
        memories[name] = memories_of(module)
    return gates, memories


def flat_nand2(text: str, top: str) -> float:
    """Return the NAND2 equivalents of a design that is flattened before it is optimised."""
    script = "read_rtlil design.il" + MAPPING.format(top=top)
    modules = json.loads(run_yosys(script, {"design.il": text}, ["gates.json"])["gates.json"])
    cells = Counter(cell["type"] for cell in modules["modules"][top]["cells"].values())
    return nand2_equivalents(
        Counter({cell: n for cell, n in cells.items() if not cell.startswith("$mem")})
    )
