"""Exact work of a kernel, its least cycles, and its predicted cycles."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...hw.config import WORD_BYTES, ClusterConfig
from ...kernels.gemm.bias import ACTIVATIONS

__all__ = [
    "ADDED",
    "CORES",
    "FINISHED",
    "PAIR",
    "WHAT",
    "Levels",
    "Prediction",
    "Traffic",
    "counted_levels",
    "counted_traffic",
    "work_of",
]

#: The model in messages.
WHAT = "the analytic model of gemm"
#: Requester of words of C that the cores of a matrix unit read to finish them.
CORES = "cores"
#: Kernel whose cores add C to the product, and all whose cores finish C.
ADDED = "gemm_add"
FINISHED = (*ACTIVATIONS, ADDED)
#: Kernel of two products at once.
PAIR = "gemm_pair"


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Exact work of a product.

    Parameters
    ----------
    active : int
        Cycles in which a row of A enters the array, or a step of a product of a tensor unit starts,
        of all units.
    shared_read_bytes : dict
        Bytes read from shared memory, by requester: ``a`` and ``b`` of a matrix unit, ``a1``
        and ``b1`` of a second one, and ``cores`` if these finish C; the tensor unit of each core,
        or the row ports of all cores.
    dma_read_bytes, dma_written_bytes : int
        Bytes of all beats of the DMA on the AXI masters.
    products : int
        Instructions of the tensor units; 0 for a matrix unit.
    shared_written_bytes : dict
        Bytes written to shared memory by requester, likewise; only those of row ports of cores
        whose tensor units are fed by registers.

    """

    active: int
    shared_read_bytes: dict[str, int]
    dma_read_bytes: int
    dma_written_bytes: int
    products: int = 0
    shared_written_bytes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Levels:
    """Bytes of operands and results between caches and DRAM in a whole run.

    Parameters
    ----------
    dram_written_bytes : int
        Bytes that the DMA and the L2 write to DRAM until the caches are flushed.
    dram_read_bytes : int or None
        Bytes that they read from DRAM; None if the L2 keeps only a part of what is read again.
    l1d_filled_bytes : int or None
        Bytes of lines that data caches of the cores get; None if the model does not follow their
        reuse.

    """

    dram_written_bytes: int
    dram_read_bytes: int | None = None
    l1d_filled_bytes: int | None = None

    def known(self) -> dict[str, int]:
        """Return the bytes by name, without those that are not described."""
        return {name: count for name, count in asdict(self).items() if count is not None}


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Work of a kernel, and how long it takes.

    Parameters
    ----------
    traffic : Traffic
        Exact work.
    limits : dict
        Least cycles by what takes them, in closed form (`limits.LIMITS`): no run takes fewer.
    cycles : int or None
        Cycles from the begin marker to the end marker; None where the model has only the limits.
    terms : dict
        Cycles by cause; their sum is `cycles`.
    levels : Levels or None
        Bytes between caches and DRAM; None if the model does not describe them.

    """

    traffic: Traffic
    limits: dict[str, int]
    cycles: int | None = None
    terms: dict[str, int] = field(default_factory=dict)
    levels: Levels | None = None

    @property
    def least_cycles(self) -> int:
        """The largest of the limits."""
        return max(self.limits.values())


def counted_traffic(config: ClusterConfig, result: Mapping[str, Any]) -> Traffic:
    """Return the work that the counters of a run show, on the first matrix unit or tensor units."""
    counters, axi = result["counters"], config.axi
    hgmma, hmma = config.hgmma_units, config.tensor_units
    written = []
    if hmma is not None:
        readers = written = ["rows"]
        products = sum(core["counters"]["operations_tensor"] for core in result["cores"])
        active = products * hmma.steps
    elif hgmma is not None:
        readers = [f"tensor{core}" for core in range(config.cores)]
        active = counters["tensor_active_cycles"]
        products = active // hgmma.steps
    else:
        readers, products, active = ["a", "b"], 0, counters["matrix_active"]
        if result["kernel"] in FINISHED:
            readers.append(CORES)
        if result["kernel"] == PAIR:
            readers += ["a1", "b1"]
            active += counters["matrix1_active"]

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
        active=active,
        shared_read_bytes={name: words(name, "read") * WORD_BYTES for name in readers},
        shared_written_bytes={name: words(name, "write") * WORD_BYTES for name in written},
        dma_read_bytes=beats("read") * axi.beat_bytes,
        dma_written_bytes=beats("write") * axi.beat_bytes,
        products=products,
    )


def counted_levels(config: ClusterConfig, result: Mapping[str, Any]) -> Levels:
    """Return the bytes between caches and DRAM that a run shows."""
    assert config.core is not None
    dram = result["memory"]["traffic"]["run"]
    return Levels(
        dram_read_bytes=dram["read_bytes"],
        dram_written_bytes=dram["written_bytes"],
        l1d_filled_bytes=result["counters"]["l1d_misses"] * config.core.l1d.line_bytes,
    )


def work_of(traffic: Traffic, levels: Levels | None) -> dict[str, int]:
    """Return the work of all requesters by the names in results, without what is not described."""
    work = {
        "active_cycles": traffic.active,
        "products": traffic.products,
        "shared_read_bytes": sum(traffic.shared_read_bytes.values()),
        "shared_written_bytes": sum(traffic.shared_written_bytes.values()),
        "dma_read_bytes": traffic.dma_read_bytes,
        "dma_written_bytes": traffic.dma_written_bytes,
    }
    return work if levels is None else work | levels.known()
