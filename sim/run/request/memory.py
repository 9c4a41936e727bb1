"""Options of the memory model."""

from collections.abc import Mapping

from ....base.errors import UserError
from ...harness.core_memory import CoreMemoryConfig
from ...harness.dram import DramConfig

__all__ = ["memory_of"]


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
