"""Results of synthesis, kept under a hash of everything they depend on."""

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable

from ..hw.cache import cache_directory

__all__ = ["cached"]


def cached(
    kind: str, inputs: Iterable[str], compute: Callable[[], dict[str, str]]
) -> dict[str, str]:
    """Return `compute`'s texts, from the cache if it ran with these `inputs` before.

    Two processes may compute the same: each writes a file of its own and renames it, so a reader
    sees a whole entry or none. A damaged entry is computed again.
    """
    digest = hashlib.sha256(json.dumps(list(inputs)).encode()).hexdigest()
    entry = cache_directory() / kind / f"{digest}.json.gz"
    try:
        return json.loads(gzip.decompress(entry.read_bytes()))
    except (OSError, EOFError, ValueError):
        texts = compute()
    entry.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=entry.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(gzip.compress(json.dumps(texts).encode(), compresslevel=1))
    os.replace(draft, entry)
    return texts
