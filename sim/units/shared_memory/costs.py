"""Costs of lane accesses and of wide streams at shared memory, alone and together."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....hw.config import WORD_BYTES, SharedMemoryConfig
from ....hw.memory.shared.shared_memory import SharedMemoryPorts
from .stress import SharedStress, Wishes

__all__ = [
    "BESIDE",
    "EIGHT_LANES",
    "Lanes",
    "Load",
    "bytes_per_cycle",
    "conflicting_lanes",
    "lane_costs",
    "lanes_on",
    "strided",
    "wide",
]

#: Shared memory with a port for each of eight lanes, and wide ports of whole and partial lines.
EIGHT_LANES = SharedMemoryPorts(
    memory=SharedMemoryConfig(size=8192, banks=4, subbanks=8, narrow_ports=8),
    read_sizes=(32, 32, 16),
    write_sizes=(32, 16),
)
MEMORY = EIGHT_LANES.memory
LANES = MEMORY.narrow_ports
BANK = MEMORY.size // MEMORY.banks
LINE = MEMORY.line_bytes


@dataclass(frozen=True)
class Lanes:
    """One access per lane: addresses, and the lanes that store."""

    addresses: Sequence[int]
    stores: Sequence[bool]


def strided(lanes: int, stride: int, *, start: int = 0, store: bool = False) -> Lanes:
    """Return lanes `stride` words apart."""
    addresses = [WORD_BYTES * (start + stride * lane) for lane in range(lanes)]
    return Lanes(addresses, [store] * lanes)


def conflicting_lanes(degree: int, *, seed: int, count: int = 20) -> list[Lanes]:
    """Return accesses of `EIGHT_LANES` with `degree` lanes in one subbank, in different lines.

    Every other lane is alone in its subbank.
    """
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        bank, subbanks = rng.randrange(MEMORY.banks), rng.sample(range(MEMORY.subbanks), LANES)
        places = [(subbanks[0], line) for line in rng.sample(range(MEMORY.lines), degree)]
        places += [(subbank, rng.randrange(MEMORY.lines)) for subbank in subbanks[degree:]]
        rng.shuffle(places)
        addresses = [bank * BANK + LINE * line + WORD_BYTES * subbank for subbank, line in places]
        found.append(Lanes(addresses, [False] * LANES))
    return found


def lane_costs(stress: SharedStress, accesses: Sequence[Lanes]) -> list[int]:
    """Return the cycles of each access, from the request of all lanes to the last grant."""
    lanes = stress.config.memory.narrow_ports
    gap = lanes + 1  # one lane at a time is the worst case
    addresses = np.full((lanes, gap * len(accesses)), -1, np.int64)
    stores = np.zeros((lanes, gap * len(accesses)), bool)
    addresses[:, ::gap] = np.array([each.addresses for each in accesses]).T
    stores[:, ::gap] = np.array([each.stores for each in accesses]).T
    data = stress.rng.integers(0, 256, (gap * len(accesses), WORD_BYTES), np.uint8)
    mask = np.ones_like(data, bool)
    run = stress.run({
        f"narrow_{lane}": Wishes(addresses[lane], stores[lane], data, mask) for lane in range(lanes)
    })
    ends = np.array([run.accepted[f"narrow_{lane}"] for lane in range(lanes)]).max(axis=0)
    # A wish of one cycle is requested from the next cycle on.
    return (ends - gap * np.arange(len(accesses))).tolist()


@dataclass(frozen=True)
class Load:
    """Continuous load of a port.

    Parameters
    ----------
    address : int
        Address of the first access.
    step : int
        Bytes between accesses, which wrap within the `span` bytes from `address`.
    span : int
    every : int
        Period of the accesses in cycles: 1 for every cycle, 2 for every second, and so on.
    store : bool

    """

    address: int
    step: int = 0
    span: int = 1
    every: int = 1
    store: bool = False

    def wishes(self, cycles: int, size: int) -> Wishes:
        """Return the wishes of `cycles` cycles, with accesses of `size` bytes."""
        moves = np.arange(cycles) // self.every
        places = self.address + self.step * moves % self.span
        address = np.where(np.arange(cycles) % self.every == 0, places, -1)
        data = np.zeros((cycles, size), np.uint8)
        return Wishes(address, self.store, data, np.ones_like(data, bool))


def bytes_per_cycle(
    stress: SharedStress, loads: Mapping[str, Load], cycles: int = 256
) -> dict[str, float]:
    """Return the bytes per cycle of each kind of port under all loads, such as ``read`` or ``row``.

    Kinds without traffic are omitted. `cycles` must be a multiple of every arbitration period.
    """
    warm = 2 * len(stress.sizes)
    run = stress.run({
        name: load.wishes(2 * warm + cycles, stress.sizes[name]) for name, load in loads.items()
    })
    moved = Counter[str]()
    for name, accepted in run.accepted.items():
        times = sum(warm <= cycle < warm + cycles for cycle in accepted)
        moved[name.partition("_")[0]] += times * stress.sizes[name]
    return {kind: count / cycles for kind, count in moved.items() if count}


def lanes_on(bank: int, *, every: int = 1, store: bool = False) -> dict[str, Load]:
    """Return loads that take all lanes of `EIGHT_LANES` through a bank, line by line."""
    return {
        f"narrow_{lane}": Load(bank * BANK + 4 * lane, LINE, BANK // 2, every, store)
        for lane in range(LANES)
    }


def wide(bank: int, *, every: int = 1, store: bool = False, half: int = 0) -> Load:
    """Return a load that takes a wide port through the other half of a bank, line by line."""
    return Load(bank * BANK + BANK // 2 + half, LINE, BANK // 2, every, store)


ALL = 4 * LANES
#: Wide loads, lane loads beside them, and the expected bytes per cycle of each kind.
BESIDE: dict[str, tuple[dict[str, Load], dict[str, Load], dict[str, float]]] = {
    "lanes alone": ({}, lanes_on(0), {"narrow": ALL}),
    "lanes of another bank": ({"read_0": wide(0)}, lanes_on(1), {"read": LINE, "narrow": ALL}),
    "reads without a gap": ({"read_0": wide(0)}, lanes_on(0), {"read": LINE}),
    "writes without a gap": (
        {"write_0": wide(0, store=True)},
        lanes_on(0, store=True),
        {"write": LINE},
    ),
    "reads beside stores": (
        {"read_0": wide(0)},
        lanes_on(0, store=True),
        {"read": LINE, "narrow": ALL},
    ),
    "writes beside loads": (
        {"write_0": wide(0, store=True)},
        lanes_on(0),
        {"write": LINE, "narrow": ALL},
    ),
    "reads in every second cycle": (
        {"read_0": wide(0, every=2)},
        lanes_on(0),
        {"read": LINE / 2, "narrow": ALL / 2},
    ),
    "reads in every fourth cycle": (
        {"read_0": wide(0, every=4)},
        lanes_on(0),
        {"read": LINE / 4, "narrow": ALL * 3 / 4},
    ),
    "reads of half a line": (
        {"read_2": wide(0, half=16)},
        lanes_on(0),
        {"read": 16, "narrow": ALL / 2},
    ),
    "two readers of one bank": (
        {"read_0": wide(0), "read_1": wide(0)},
        lanes_on(1),
        {"read": LINE, "narrow": ALL},
    ),
    "two readers of two banks": (
        {"read_0": wide(0), "read_1": wide(1)},
        lanes_on(2),
        {"read": 2 * LINE, "narrow": ALL},
    ),
    "everybody": (
        {"read_0": wide(0), "read_1": wide(1), "write_0": wide(2, store=True)},
        lanes_on(3),
        {"read": 2 * LINE, "write": LINE, "narrow": ALL},
    ),
}
