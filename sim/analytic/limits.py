"""Least cycles of a kernel in closed form: no machine with these units and ports takes fewer."""

from ...hw.config import MachineConfig
from ...kernels.gemm.problem import ceil_div
from ..harness.dram import DramConfig
from .work import Levels, Traffic

__all__ = ["LIMITS", "limits_of"]

#: Activity in the cycles of each limit.
LIMITS = {
    "unit": "the units compute",
    "row_ports": "the row ports of the cores read or write rows of shared memory",
    "dma": "the DMA reads a beat per master",
    "dram": "DRAM reads operands at its bandwidth",
}


def limits_of(
    config: MachineConfig,
    traffic: Traffic,
    levels: Levels | None,
    memory: DramConfig,
    *,
    active: int | None = None,
) -> dict[str, int]:
    """Return the least cycles by the names of `LIMITS`, without what the kernel does not use.

    Parameters
    ----------
    config : MachineConfig
        The machine.
    traffic : Traffic
        Exact work.
    levels : Levels or None
        Bytes between caches and DRAM, if the model describes them.
    memory : DramConfig
        Timing of DRAM.
    active : int or None
        Cycles in which the unit with most work computes; by default its equal share.

    """
    units = 1 if config.units else config.cores
    bounds = {"unit": ceil_div(traffic.active, units) if active is None else active}
    if config.row_bytes:
        rows = max(
            traffic.shared_read_bytes.get("rows", 0), traffic.shared_written_bytes.get("rows", 0)
        )
        bounds["row_ports"] = ceil_div(rows, config.cores * config.row_bytes)
    beat = config.axi.masters * config.axi.beat_bytes
    bounds["dma"] = ceil_div(traffic.dma_read_bytes, beat)
    if levels is not None and levels.dram_read_bytes is not None:
        bounds["dram"] = int(levels.dram_read_bytes // memory.bytes_per_cycle)
    return {name: cycles for name, cycles in bounds.items() if cycles or name == "unit"}
