"""Steps of agents that share memory, and the words they access."""

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
    """Store the bytes of a word selected by a mask."""

    place: str
    value: int
    mask: int = WORD


@dataclass(frozen=True)
class Fence:
    """Wait for all accesses of the agent, then invalidate the data copies of its core."""


@dataclass(frozen=True)
class Fetch:
    """Load a word as an instruction, from the copy in the L1I."""

    place: str
    register: str


@dataclass(frozen=True)
class FenceI:
    """Invalidate the instruction copies of the core."""


@dataclass(frozen=True)
class Copy:
    """Start a DMA copy of words from one of two memories to the other."""

    words: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Await:
    """Wait until all copies that the agent has begun are complete."""


Step = Load | Store | Fence | Fetch | FenceI | Copy | Await


@dataclass(frozen=True)
class Agent:
    """A thread of a core, and its steps."""

    core: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Places:
    """Words by name, all initially 0: the DRAM beat of each, None for shared memory."""

    beats: Mapping[str, int | None]

    @property
    def names(self) -> tuple[str, ...]:
        """All words."""
        return tuple(self.beats)

    def together(self, place: str) -> list[str]:
        """Return the words in the beat of `place`; a word of shared memory is alone."""
        beat = self.beats[place]
        if beat is None:
            return [place]
        return [name for name, other in self.beats.items() if other == beat]
