"""What agents that share memory do, step by step, and the words they do it to."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "Agent",
    "Await",
    "Copy",
    "Fence",
    "FenceI",
    "Fetch",
    "Load",
    "Places",
    "Step",
    "Store",
]

WORD = 0xFFFF_FFFF


@dataclass(frozen=True)
class Load:
    """Load a word into a register."""

    place: str
    register: str


@dataclass(frozen=True)
class Store:
    """Store bytes of a word: those of a mask."""

    place: str
    value: int
    mask: int = WORD


@dataclass(frozen=True)
class Fence:
    """Wait for all accesses of the agent, then forget the copies that its core has."""


@dataclass(frozen=True)
class Fetch:
    """Load a word as an instruction is: from the copy of the L1I."""

    place: str
    register: str


@dataclass(frozen=True)
class FenceI:
    """Forget the instructions that the core has."""


@dataclass(frozen=True)
class Copy:
    """Tell the DMA to copy words from one of two memories to the other."""

    words: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Await:
    """Wait until the copies that the agent has begun are done."""


Step = Load | Store | Fence | Fetch | FenceI | Copy | Await


@dataclass(frozen=True)
class Agent:
    """A thread of a core, and what it does."""

    core: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Places:
    """Words by name, all 0 at first: in which beat of DRAM each is, None in shared memory."""

    beats: Mapping[str, int | None]

    @property
    def names(self) -> tuple[str, ...]:
        """All words."""
        return tuple(self.beats)

    def together(self, place: str) -> list[str]:
        """Return the words of the beat of one; shared memory has words alone."""
        beat = self.beats[place]
        if beat is None:
            return [place]
        return [name for name, other in self.beats.items() if other == beat]
