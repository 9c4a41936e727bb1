"""Golden model of SRAM macro wrappers, including undefined outputs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spica.hw.emit.sram_macros import ONE_PORT, SramShape

__all__ = ["SramStep", "sram"]


@dataclass(frozen=True, kw_only=True)
class SramStep:
    """Inputs of a memory in a cycle; with one port both addresses are equal."""

    read: bool
    read_address: int
    mask: int
    write_address: int
    data: int


def sram(shape: SramShape, steps: Iterable[SramStep]) -> Iterator[str]:
    """Yield the output bits after each cycle, highest first, with ``x`` for undefined bits."""
    unknown = "x" * shape.width
    words = [unknown] * shape.depth
    shown = unknown
    for step in steps:
        clashes = step.read and step.mask != 0
        if clashes and shape.ports == ONE_PORT:
            words[step.write_address] = shown = unknown
        else:
            if step.read:
                same = clashes and step.read_address == step.write_address
                shown = unknown if same else words[step.read_address]
            words[step.write_address] = written(shape, words[step.write_address], step)
        yield shown


def written(shape: SramShape, word: str, step: SramStep) -> str:
    """Return a word after a write of the parts selected by the mask."""
    data = f"{step.data:0{shape.width}b}"
    size, parts = shape.granularity, range(shape.mask_width)
    # The text begins with the highest part.
    return "".join(
        (data if step.mask >> (shape.mask_width - 1 - n) & 1 else word)[n * size : (n + 1) * size]
        for n in parts
    )
