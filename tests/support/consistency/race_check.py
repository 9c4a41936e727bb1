"""Check of the values read in a program of races, against all allowed values."""

from collections.abc import Callable, Iterator

import numpy as np

from support.consistency.race_program import FIELD, LOG, OF_DMA, SIZES, MemoryRaces

__all__ = ["final_memory", "wrong_reads"]


def final_memory(races: MemoryRaces) -> bytes:
    """Return the final contents of the lines."""
    memory = races.first.copy()
    for kind, size in enumerate(SIZES):
        value = np.frombuffer(races.counts[kind].to_bytes(8, "little")[:size], np.uint8)
        for at in races.pieces[:, kind] - FIELD:
            memory[at : at + size] = value
    for place in races.of_dma:
        memory[place.bytes - FIELD] = races.of_dma_at(races.epochs)
    return memory.tobytes()


def wrong_reads(races: MemoryRaces, read: Callable[[int, int], np.ndarray]) -> Iterator[str]:
    """Yield a message for each value that is not allowed."""
    log = read(LOG, 4 * races.harts * races.logged).view(np.uint32)
    log = log.reshape(races.harts, races.logged)
    owner = {int(at): (hart, kind) for (hart, kind), at in np.ndenumerate(races.pieces)}
    threads = races.core.threads
    for hart in range(races.harts):
        values, seen = iter(log[hart].tolist()), {}
        for burst in races.written:
            low, high = races.ends[burst.epoch], races.ends[burst.epoch + 1]
            for number in range(burst.rounds):
                for one in burst.reads:
                    value, at = next(values), int(burst.targets[one.row, hart])
                    kind = one.kind
                    bits = 8 * (1 if kind == OF_DMA else SIZES[kind])
                    least, most = low[kind], high[kind]
                    if kind != OF_DMA and owner[at][0] // threads == hart // threads:
                        least = most = burst.counts[kind] + number * burst.stores[kind] + one.stores
                    least = max(least, seen.get(at, 0))
                    # Lowest allowed number with these low bits; later reads may return any above.
                    unwrapped = least + (value - least) % (1 << bits)
                    if unwrapped > most:
                        yield (
                            f"thread {hart}, epoch {burst.epoch}: {value} at {at:#x}, "
                            f"not one of {least} to {most}"
                        )
                    else:
                        seen[at] = unwrapped
