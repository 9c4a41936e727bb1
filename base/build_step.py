"""Steps of a build: reported with the expected duration, which earlier steps of the kind give."""

import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .build_cache import cache_directory
from .progress import Progress

__all__ = ["build_step", "expected_seconds", "remember"]

#: Durations kept of each kind, the latest.
LATEST = 8
#: Shortest duration kept, in seconds: a shorter one is that of a tool with a cache of its own.
LEAST = 1.0
#: Largest ratio of durations, and of sizes, at which those of similar sizes agree.
AGREES = 3.0
#: Bounds of stored sizes (bytes) and durations (seconds).
MOST_BYTES, MOST_SECONDS = 1e15, 1e7

#: Size (bytes) and duration (seconds) of a step.
Point = tuple[int, float]


@contextmanager
def build_step(
    progress: Progress | None, description: str, *, size: int = 1, total: int = 1, variant: str = ""
) -> Iterator[None]:
    """Report a step of a build with its expected duration, and remember the actual one.

    Parameters
    ----------
    progress : callable or None
        Progress callback; without one nothing is remembered.
    description : str
        Kind of the step, as shown.
    size : int
        Size of the input in bytes: the duration of a kind is proportional to it.
    total : int
        Parts of the step.
    variant : str
        Further inputs that change the duration, for example an optimization level.

    """
    if progress is None:  # often in the background of another step, whose load distorts it
        yield
        return
    kind = f"{description} {variant}".strip()
    size = max(size, 1)
    progress(description, 0, total, expected_seconds(kind, size))
    began = time.monotonic()
    yield
    if not getattr(progress, "is_background", False):
        remember(kind, size, time.monotonic() - began)


def expected_seconds(kind: str, size: int) -> float | None:
    """Return the expected duration of a step; None unless earlier steps of its kind agree on it.

    The earlier step of the most similar size is scaled to `size`. Those of sizes like its own must
    have had similar durations.
    """
    points = known_durations().get(kind)
    if not points:
        return None
    near, seconds = min(reversed(points), key=lambda point: abs(math.log(point[0] / size)))
    alike = [own / bytes_ for bytes_, own in points if 1 / AGREES <= bytes_ / near <= AGREES]
    if max(alike) > AGREES * min(alike):
        return None
    return seconds * size / near


def remember(kind: str, size: int, seconds: float) -> None:
    """Store the duration of a step, unless it is short or the cache cannot be written.

    Of equal sizes the longest is kept: that of a step without anything in a cache.
    """
    if seconds < LEAST:
        return
    known = known_durations()
    others = [point for point in known.get(kind, []) if point[0] != size]
    longest = max([seconds, *(own for bytes_, own in known.get(kind, []) if bytes_ == size)])
    known[kind] = [*others, (size, round(longest, 3))][-LATEST:]
    path = durations_file()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        # A reader sees a complete file. Two writers may lose a duration, but nothing else.
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(known))
        os.replace(draft, path)


def durations_file() -> Path:
    """Return the file of durations, next to the entries of the cache."""
    return cache_directory() / "durations.json"


def known_durations() -> dict[str, list[Point]]:
    """Return the stored durations by kind, without damaged parts."""
    try:
        stored = json.loads(durations_file().read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(stored, dict):
        return {}
    return {kind: sound_points(points) for kind, points in stored.items()}


def sound_points(points: Any) -> list[Point]:
    """Return the pairs of a size and a duration among stored values."""
    if not isinstance(points, list):
        return []
    return [
        (point[0], float(point[1]))
        for point in points
        if isinstance(point, list)
        and len(point) == 2
        and all(isinstance(number, int | float) for number in point)
        and 1 <= point[0] < MOST_BYTES
        and 0 <= point[1] < MOST_SECONDS
    ]
