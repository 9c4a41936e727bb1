"""Measured rates of the conflict rules of shared memory."""

from collections import Counter

import numpy as np

from spica.hw.config import WORD_BYTES
from spica.hw.memory.shared.shared_memory import SharedMemoryPorts
from spica.sim.golden.memory.shared.conflict_rules import ROW, Place, Rule
from support.memory.shared_stress import SharedStress, Wishes

__all__ = ["accesses_per_cycle"]


def wishes_at(
    place: Place, config: SharedMemoryPorts, cycles: int, size: int, lane: int = 0
) -> Wishes:
    """Return the wishes of `cycles` cycles, with accesses of `size` bytes."""
    memory = config.memory
    bank = memory.size // memory.banks
    quarter = bank // 4
    start = place.bank * bank + place.part * quarter + place.row % config.slices * ROW
    moves = np.arange(cycles) // place.every * place.steps
    addresses = start + WORD_BYTES * lane + memory.line_bytes * moves % quarter
    address = np.where(np.arange(cycles) % place.every == 0, addresses, -1)
    data = np.zeros((cycles, size), np.uint8)
    return Wishes(address, place.store, data, np.ones_like(data, bool))


def accesses_per_cycle(stress: SharedStress, rule: Rule, cycles: int = 256) -> dict[str, float]:
    """Return the measured accesses per cycle of a rule, by kind of port.

    Kinds without traffic are omitted. `cycles` must be a multiple of every arbitration period.
    """
    warm = 2 * len(stress.sizes)
    run = stress.run({
        name: wishes_at(place, stress.config, 2 * warm + cycles, stress.sizes[name], lane)
        for name, (place, lane) in rule.places().items()
    })
    served = Counter[str]()
    for name, accepted in run.accepted.items():
        served[name.partition("_")[0]] += sum(warm <= cycle < warm + cycles for cycle in accepted)
    return {kind: count / cycles for kind, count in served.items() if count}
