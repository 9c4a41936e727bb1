"""Hash of all sources and tools on which the record of a piece of work depends."""

import functools
from pathlib import Path

from ... import base, hw, kernels, sim, synth
from ...base.build_cache import digest
from ...hw.emit.shared_block import describe
from ...sim.engine.versions import versions

__all__ = ["source_key"]


@functools.cache
def source_key() -> str:
    """Return a hash of the versions of all tools and of all sources of models and kernels."""
    folders = [Path(room.__path__[0]) for room in (base, hw, kernels, sim, synth)]
    folders.append(Path(__file__).parents[1])
    parts: list[str | bytes] = [describe(versions())]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                parts += [path.relative_to(folder.parent).as_posix(), path.read_bytes()]
    return digest(parts)
