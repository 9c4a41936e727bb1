"""Progress of synthesis by block."""

from collections.abc import Callable

from ..base.progress import Progress

__all__ = ["counting_blocks"]


def counting_blocks(progress: Progress, name: str) -> Callable[[str, int], None]:
    """Report elaboration, and return a callback that counts the blocks synthesised."""
    done = 0
    progress(f"elaborating {name}", 0, 0)

    def advance(_: str, blocks: int):
        nonlocal done
        done += 1
        progress(f"synthesising {name}", done, blocks)

    return advance
