"""Samples of a run: windows of cycles, and instances of each distinct block in each group."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..design import Design
from ..groups import group_of
from ..measure import OTHER

__all__ = ["Part", "parts_of", "sampled_windows"]


@dataclass(frozen=True, kw_only=True)
class Part:
    """Instances of a block that belong to one group.

    Parameters
    ----------
    block, group : str
        Name of the block, and of the group in `synth.groups`.
    instances : tuple of str
        Path of each instance, with dots, from the top.

    """

    block: str
    group: str
    instances: tuple[str, ...]

    def sample(self, count: int, seed: int = 1) -> tuple[str, ...]:
        """Return at most `count` instances, each at a random place of an equal share of them.

        Equal distances would choose the same lane of every core.
        """
        total = len(self.instances)
        if total <= count:
            return self.instances
        generator = random.Random(f"{self.block} {self.group} {seed}")
        bounds = [k * total // count for k in range(count + 1)]
        return tuple(self.instances[generator.randrange(*share)] for share in pairwise(bounds))


def parts_of(
    design: Design, top: str, children: Callable[[str], Sequence[tuple[str, str]]]
) -> list[Part]:
    """Return all instances of a design by block and group, parents first.

    Parameters
    ----------
    design : Design
        Blocks with their classes.
    top : str
        Path of the top instance.
    children : callable
        Takes a block; returns path below it and block of each other block in it.

    """
    groups: dict[tuple[str, str], list[str]] = {}

    def place(path: str, block: str, above: str):
        group = group_of(design.blocks[block].kind) or above
        groups.setdefault((block, group), []).append(path)
        for below, child in children(block):
            place(f"{path}.{below}", child, group)

    place(top, design.top, OTHER)
    return [
        Part(block=block, group=group, instances=tuple(paths))
        for (block, group), paths in groups.items()
    ]


def sampled_windows(cycles: int, count: int, length: int, seed: int = 1) -> list[tuple[int, int]]:
    """Return the first cycle of each window of a run and the cycle after its last.

    The run is divided into `count` equal strata; each has one window of `length` counted cycles at
    a random place, with one cycle before them that says what toggles first. A run that is not
    longer than its windows is one window.

    Parameters
    ----------
    cycles : int
        Cycles of the run.
    count, length : int
        Windows, and cycles of each.
    seed : int
        Seed of their places, so that they do not follow a period of the run.

    """
    if count < 1 or length < 1:
        raise ValueError(f"count and length must be at least 1, not {count} and {length}")
    if cycles <= count * (length + 1):
        return [(0, cycles)]
    generator = random.Random(seed)
    windows = []
    for k in range(count):
        first, end = k * cycles // count, (k + 1) * cycles // count
        start = first + generator.randrange(end - first - length)
        windows.append((start, start + length + 1))
    return windows
