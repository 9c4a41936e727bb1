"""Access patterns at shared memory: like lanes, DMA and matrix units, and random."""

from collections.abc import Callable

import numpy as np

from spica.hw.config import WORD_BYTES
from spica.hw.isa.operations import AtomicOperation
from spica.hw.memory.shared.shared_memory import SharedMemoryPorts
from spica.sim.golden.memory.shared.shared_memory import port_sizes
from support.memory.shared_stress import Wishes

__all__ = ["PHASE", "mixed_wishes", "port_wishes"]

#: Cycles of one pattern before a port changes to the next.
PHASE = 128
#: Operations of atomics, more often those with a reservation.
OPERATIONS = (*AtomicOperation, *(AtomicOperation.LR, AtomicOperation.SC))
#: Bytes of an atomic.
MASKS = (0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100, *[0b1111] * 4)
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
    if kind == "narrow" and config.memory.atomics is not None:
        return with_atomics(rng, config, address)
    write = np.ones(cycles, bool) if kind == "write" else rng.random(cycles) < rng.random()
    data = rng.integers(0, 256, (cycles, size), np.uint8)
    data[rng.random(cycles) < 0.1] = rng.choice([0, 255])
    mask = rng.random((cycles, size)) < rng.choice([0.0, 0.5, 1.0, 1.0], (cycles, 1))
    return Wishes(address, write, data, mask)


def with_atomics(
    rng: np.random.Generator, config: SharedMemoryPorts, address: np.ndarray
) -> Wishes:
    """Return the wishes of a lane at addresses: reads, writes and, in some phases, atomics.

    Values often are equal or at the ends of a range. A store-conditional often follows the
    load-reserved of its thread.
    """
    cycles, phases = len(address), -(-len(address) // PHASE)
    rate = np.repeat(rng.choice([0.0, 0.5, 1.0], phases), PHASE)[:cycles]
    operation = np.where(rng.random(cycles) < rate, rng.choice(OPERATIONS, cycles), -1)
    owner = rng.integers(0, 1 << (config.memory.port.owner_width or 0), cycles)
    mask = rng.choice(MASKS, cycles)
    follows = np.flatnonzero((operation[:-1] == AtomicOperation.LR) & (address[:-1] >= 0)) + 1
    for after in follows[rng.random(len(follows)) < 0.7].tolist():
        operation[after] = AtomicOperation.SC
        address[after], owner[after] = address[after - 1], owner[after - 1]
    mask[(operation == AtomicOperation.LR) | (operation == AtomicOperation.SC)] = 0b1111
    ends = np.array([0, 1, 0x7F, 0x8000_0000, 0xFFFF_FFFF])
    values = rng.integers(0, 1 << 32, (2, cycles))
    values = np.where(rng.random((2, cycles)) < 0.7, rng.choice(ends, (2, cycles)), values)
    return Wishes(
        address,
        write=(operation < 0) & (rng.random(cycles) < 0.5),
        data=values[0].astype("<u4").view(np.uint8).reshape(cycles, WORD_BYTES),
        mask=(mask[:, None] >> np.arange(WORD_BYTES) & 1).astype(bool),
        operation=operation,
        expected=values[1],
        owner=owner,
    )


def mixed_wishes(config: SharedMemoryPorts, cycles: int, seed: int) -> dict[str, Wishes]:
    """Return wishes of every port, with patterns of all kinds in parallel."""
    rng = np.random.default_rng(seed)
    return {name: port_wishes(rng, config, name, cycles, seed) for name in port_sizes(config)}
