"""FPGA resources of a design by groups: the sum of its blocks, each synthesised by itself."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..design import Design
from ..groups import GROUPS
from ..measure import OTHER, in_order, places_of
from .technology import RESOURCES, Technology, resources_in

__all__ = ["Resources", "measure_technology"]


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Resources of a design: total, by group, and per instance of each block.

    Parameters
    ----------
    whole : Counter of str
        Total by `RESOURCES`.
    groups : mapping of str to Counter
        The same by group.
    blocks : mapping of str to tuple
        Instances of each block, and the resources of one.

    """

    whole: Counter[str]
    groups: Mapping[str, Counter[str]]
    blocks: Mapping[str, tuple[int, Counter[str]]]


def measure_technology(
    design: Design,
    technology: Technology,
    *,
    workers: int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Resources:
    """Return the resources of a design on a family of FPGAs."""
    placed = in_order(
        design.blocks, lambda block: resources_in(technology, block), workers, progress
    )
    groups: dict[str, Counter[str]] = {}
    blocks = {}
    for name, places in places_of(design).items():
        blocks[name] = (sum(places.values()), placed[name])
        for group, times in places.items():
            sums = groups.setdefault(group, Counter())
            for resource, amount in placed[name].items():
                sums[resource] += amount * times
    whole: Counter[str] = Counter()
    for sums in groups.values():
        whole.update(sums)
    return Resources(
        whole=Counter({name: whole[name] for name in RESOURCES}),
        groups={name: groups[name] for name in (*GROUPS, OTHER) if name in groups},
        blocks=blocks,
    )
