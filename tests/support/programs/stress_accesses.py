"""Loads and stores of a stress program, and checksums of the loaded values."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from support.programs.stress_regions import SIZES

__all__ = ["PLACES", "Use", "accesses", "fold"]

#: Registers for addresses; destinations of loads; sources of stores.
PLACES = tuple(f"a{n}" for n in range(6))
LOADED = ("t1", "t2", "t3", "t4", "t5", "t6", "s6", "s7")
LOADED_FLOATS = ("fa2", "fa3")
STORED = ("s3", "s4", "s11")
LOADS = {1: ("lb", "lbu"), 2: ("lh", "lhu"), 4: ("lw", "lw", "flw")}
STORES = {1: ("sb",), 2: ("sh",), 4: ("sw", "sw", "fsw")}


@dataclass(frozen=True)
class Use:
    """An address register, with the size of the data and True if it may be written."""

    register: str
    size: int
    is_own: bool


def accesses(uses: Sequence[Use], count: int, rng: random.Random) -> Iterator[str]:
    """Yield `count` loads and stores of any size, and a checksum of the loaded values.

    Several loads are in flight at a time: a loaded value is used when its register is needed
    again, or at the end.
    """
    waiting: list[str] = []
    for _ in range(count):
        use = rng.choice(uses)
        size = rng.choice([size for size in SIZES if size <= use.size])
        place = f"{rng.randrange(0, use.size, size)}({use.register})"
        if use.is_own and rng.random() < 0.5:
            yield from store(rng.choice(STORES[size]), rng.choice(STORED), place)
            continue
        name = rng.choice(LOADS[size])
        target = rng.choice(LOADED_FLOATS if name == "flw" else LOADED)
        if target in waiting:
            waiting.remove(target)
            yield from fold(target)
        yield f"{name} {target}, {place}"
        waiting.append(target)
    for target in waiting:
        yield from fold(target)


def store(name: str, register: str, place: str) -> list[str]:
    """Return a store of an integer register, with `fsw` by way of a float register."""
    if name == "fsw":
        return [f"fmv.w.x fa0, {register}", f"fsw fa0, {place}"]
    return [f"{name} {register}, {place}"]


def fold(register: str) -> list[str]:
    """Return code that updates a thread's checksum with a loaded register."""
    if register.startswith("f"):
        return [f"fmv.x.w t0, {register}", "sub s4, t0, s4"]
    return [f"sub s4, {register}, s4"]
