"""Selectors of shuffles: the second operand, with segments and bounds."""

import random

import numpy as np

from spica.hw.core.units.integer.exchange import SELECTOR_FIELDS

__all__ = ["selector", "selectors"]


def selector(b: int, clamp: int, mask: int) -> int:
    """Return the word with these fields."""
    fields = {"b": b, "clamp": clamp, "mask": mask}
    return sum(fields[name] << low for name, low in SELECTOR_FIELDS.items())


def selectors(rng: random.Random, threads: int) -> np.ndarray:
    """Return a selector for each thread: of segments of one width, random fields, or any word."""
    numbers = range(1 << (threads - 1).bit_length())
    kind = rng.randrange(4)
    if kind < 2:
        width = 1 << rng.randrange((threads - 1).bit_length() + 1)
        clamp, mask = width - 1, len(numbers) - width
        b = rng.choice(numbers)
        words = [selector(rng.choice(numbers) if kind else b, clamp, mask) for _ in range(threads)]
    elif kind == 2:
        words = [selector(*(rng.choice(numbers) for _ in range(3))) for _ in range(threads)]
    else:
        words = [rng.getrandbits(32) for _ in range(threads)]
    return np.array(words, np.uint32)
