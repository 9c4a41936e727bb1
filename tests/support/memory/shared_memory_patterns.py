"""Access patterns at shared memory: like lanes, DMA and matrix units, and random."""

from collections.abc import Callable

import numpy as np

from spica.hw.config import WORD_BYTES
from spica.hw.memory.shared.shared_memory import SharedMemoryPorts
from spica.sim.golden.memory.shared.shared_memory import port_sizes
from support.memory.shared_stress import Wishes

__all__ = ["PHASE", "mixed_wishes", "port_wishes"]

#: Cycles of one pattern before a port changes to the next.
PHASE = 128
#: Lines of the hot spot, shared by all requesters.
HOT_LINES = 3

Pattern = Callable[[np.random.Generator, SharedMemoryPorts, int, int, int], np.ndarray]


def bank_bytes(config: SharedMemoryPorts) -> int:
    """Return the bytes of a bank."""
    return config.memory.size // config.memory.banks


def anywhere(rng, config, lane, size, cycles) -> np.ndarray:
    """Return random addresses in all of memory."""
    return rng.integers(0, config.memory.size, cycles)


def hot(rng, config, lane, size, cycles) -> np.ndarray:
    """Return random addresses in a few lines at the start of one bank, or of each."""
    span = min(bank_bytes(config), HOT_LINES * config.memory.line_bytes)
    bank = rng.integers(0, config.memory.banks, cycles) if rng.random() < 0.5 else 0
    return bank * bank_bytes(config) + rng.integers(0, span, cycles)


def stream(rng, config, lane, size, cycles) -> np.ndarray:
    """Return consecutive pieces, like the DMA in a row."""
    return rng.integers(0, config.memory.size) + size * np.arange(cycles)


def column(rng, config, lane, size, cycles) -> np.ndarray:
    """Return a piece of every line of a bank, like a matrix unit in a tile."""
    start = rng.integers(0, config.memory.banks) * bank_bytes(config)
    place = rng.integers(0, config.memory.line_bytes // size) * size
    step = config.memory.line_bytes * (1 << rng.integers(0, 3))
    return start + (place + step * np.arange(cycles)) % bank_bytes(config)


def row(rng, config, lane, size, cycles) -> np.ndarray:
    """Return words at a common stride, like the lanes of a warp with the same random state."""
    stride = rng.integers(0, 2 * config.memory.subbanks + 1)
    start = rng.integers(0, config.memory.size // WORD_BYTES)
    return WORD_BYTES * (start + stride * lane + config.memory.subbanks * np.arange(cycles))


WIDE: tuple[Pattern, ...] = (anywhere, hot, stream, column)
NARROW: tuple[Pattern, ...] = (anywhere, hot, row, row)


def port_wishes(
    rng: np.random.Generator, config: SharedMemoryPorts, name: str, cycles: int, shared: int
) -> Wishes:
    """Return the wishes of a port, with a new pattern and rate in each phase.

    In a phase of rows all lanes choose alike, by the seed `shared`.
    """
    kind, _, number = name.partition("_")
    size = port_sizes(config)[name]
    address = np.empty(cycles, np.int64)
    for phase, first in enumerate(range(0, cycles, PHASE)):
        some = min(PHASE, cycles - first)
        patterns = NARROW if kind == "narrow" else WIDE
        alike = np.random.default_rng((shared, phase))
        chosen = patterns[alike.integers(len(patterns))]
        source = alike if chosen is row else rng
        places = chosen(source, config, int(number), size, some) % config.memory.size
        wished = rng.random(some) < rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])
        address[first : first + some] = np.where(wished, places // size * size, -1)
    if kind == "read":
        return Wishes(address)
    write = np.ones(cycles, bool) if kind == "write" else rng.random(cycles) < rng.random()
    data = rng.integers(0, 256, (cycles, size), np.uint8)
    data[rng.random(cycles) < 0.1] = rng.choice([0, 255])
    mask = rng.random((cycles, size)) < rng.choice([0.0, 0.5, 1.0, 1.0], (cycles, 1))
    return Wishes(address, write, data, mask)


def mixed_wishes(config: SharedMemoryPorts, cycles: int, seed: int) -> dict[str, Wishes]:
    """Return wishes of every port, with patterns of all kinds in parallel."""
    rng = np.random.default_rng(seed)
    return {name: port_wishes(rng, config, name, cycles, seed) for name in port_sizes(config)}
