"""Exact work of a run, from its counters."""

from collections.abc import Mapping
from typing import Any

from ...hw.config import WORD_BYTES, MachineConfig
from .styles import style_of
from .work import CORES, Levels, Traffic

__all__ = ["counted_levels", "counted_traffic"]


def counted_traffic(config: MachineConfig, result: Mapping[str, Any]) -> Traffic:
    """Return the work that the counters of a run show, on the first matrix unit or tensor units."""
    counters, axi = result["counters"], config.axi
    counted = style_of(config).counted(config, result)

    def words(requester: str, direction: str) -> int:
        if requester == "rows":
            return counters[f"shared_row_{direction}_words"]
        if requester == CORES:
            # A machine has a row port, narrow ports, or both.
            return counters["shared_narrow_reads"] + counters["shared_row_read_words"]
        return counters[f"shared_{direction}_words_{requester}"]

    def beats(name: str) -> int:
        if config.dma is None:
            return 0
        return sum(counters[f"dma_{name}_beats_{master}"] for master in range(axi.masters))

    return Traffic(
        active=counted.active,
        shared_read_bytes={name: words(name, "read") * WORD_BYTES for name in counted.readers},
        shared_written_bytes={name: words(name, "write") * WORD_BYTES for name in counted.writers},
        dma_read_bytes=beats("read") * axi.beat_bytes,
        dma_written_bytes=beats("write") * axi.beat_bytes,
        products=counted.products,
    )


def counted_levels(config: MachineConfig, result: Mapping[str, Any]) -> Levels:
    """Return the bytes between caches and DRAM that a run shows."""
    assert config.core is not None
    dram = result["memory"]["traffic"]["run"]
    return Levels(
        dram_read_bytes=dram["read_bytes"],
        dram_written_bytes=dram["written_bytes"],
        l1d_filled_bytes=result["counters"]["l1d_misses"] * config.core.l1d.line_bytes,
    )
