"""Options of memory: memory model, and memory that a program may access."""

from collections.abc import Mapping

from ..hw.base.errors import UserError
from ..hw.isa.memory_map import DRAM_BASE, DRAM_END
from ..sim.harness.core_memory import CoreMemoryConfig
from ..sim.harness.dram import DramConfig

__all__ = ["memory_of", "parsed_region"]


def memory_of(
    seed: int, dram: Mapping[str, int], timing: Mapping[str, float]
) -> CoreMemoryConfig | DramConfig | None:
    """Return the memory model that the given options select; None without an option of memory."""
    if dram and timing:
        raise UserError(
            "--dram-... and --memory-... exclude each other: the first select a cluster with DRAM, "
            "the second cores with a simple memory"
        )
    try:
        if timing:
            return CoreMemoryConfig(**{"seed": seed, **timing})
    except ValueError as error:
        raise UserError(f"--memory-{error}") from None
    try:
        return DramConfig(**dram) if dram else None
    except ValueError as error:
        text = str(error).replace("bytes_per_cycle", "bandwidth", 1)
        raise UserError(f"--dram-{text}") from None


def parsed_region(text: str) -> tuple[int, int]:
    """Return address and size in bytes of ``--allow-region``."""
    try:
        address, nbytes = (int(part, 0) for part in text.split(":"))
    except ValueError:
        raise UserError(f"--allow-region must be address:bytes, not {text!r}") from None
    if not (DRAM_BASE <= address < address + nbytes <= DRAM_END):
        raise UserError(
            f"--allow-region must lie within {DRAM_BASE:#x} to {DRAM_END:#x}, not {text}"
        )
    return address, nbytes
