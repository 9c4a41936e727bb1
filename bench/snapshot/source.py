"""Hash of a tree: everything in it that determines the facts of a snapshot."""

import functools
from pathlib import Path

from spica import cli
from spica.base.build_cache import digest
from spica.explore.work.source import source_key

__all__ = ["tree_key"]


@functools.cache
def tree_key() -> str:
    """Return a hash of tools, models and kernels, of ``spica run``, and of the snapshots."""
    folders = (Path(cli.__path__[0]), Path(__file__).parent)
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return digest([source_key(), *(f"{path.name}\n{path.read_text()}" for path in files)])
