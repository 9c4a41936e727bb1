"""Golden model of the register file: the bank of each register, and cycles of conflicts."""

from collections import Counter
from dataclasses import dataclass

from .....hw.config import PipelineConfig

__all__ = ["Access", "bank_of", "cycles_of"]


@dataclass(frozen=True)
class Access:
    """A register of the threads of `mask`; for writes with `values`, one for each thread."""

    warp: int
    register: int
    mask: int
    values: tuple[int, ...] = ()
    writes: bool = True

    def threads(self) -> set[int]:
        """Return the threads of `mask`."""
        return {thread for thread in range(self.mask.bit_length()) if self.mask >> thread & 1}


def bank_of(config: PipelineConfig, warp: int, register: int, thread: int) -> int:
    """Return the bank that holds a register of a thread."""
    return ((warp if config.bank_mapping == "warp" else thread) + register) % config.banks


def cycles_of(config: PipelineConfig, accesses) -> int:
    """Return the cycles of simultaneous accesses: the reads of the busiest bank."""
    load: Counter = Counter()
    for access in accesses:
        banks = [bank_of(config, access.warp, access.register, t) for t in access.threads()]
        load.update(set(banks) if config.bank_mapping == "warp" else banks)
    return max([1, *load.values()])
