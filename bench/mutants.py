"""The faults that `mutate.py` plants, each of another kind."""

from dataclasses import dataclass

__all__ = ["MUTANTS", "Mutant"]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One edit of one gateware file, and the tests that must notice it."""

    name: str
    fault: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS: tuple[Mutant, ...] = ()
