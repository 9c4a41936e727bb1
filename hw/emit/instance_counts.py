"""Numbers of instances of modules, from RTLIL."""

import re
from collections import Counter
from collections.abc import Mapping

__all__ = ["count_instances", "total_instances"]


def count_instances(top: str, rtlil: str) -> dict[str, int]:
    """Return the number of instances of each module that `top` uses and the text does not have."""
    bodies = re.split(r"^module \\(\S+)\n", rtlil, flags=re.M)
    children = {
        name: Counter(re.findall(r"^  cell \\(\S+) ", body, re.M))
        for name, body in zip(bodies[1::2], bodies[2::2], strict=True)
    }
    totals = total_instances(top, children)
    return {name: count for name, count in totals.items() if name not in children}


def total_instances(top: str, children: Mapping[str, Mapping[str, int]]) -> Counter:
    """Return the number of instances of each module below `top`."""
    totals: Counter = Counter()

    def visit(name: str, times: int):
        totals[name] += times
        for child, count in children.get(name, {}).items():
            visit(child, times * count)

    visit(top, 1)
    return totals
