"""Exact work of a kernel, its least cycles, and its predicted cycles."""

from dataclasses import asdict, dataclass, field

from ...kernels.gemm.bias import ACTIVATIONS

__all__ = [
    "ADDED",
    "CORES",
    "FINISHED",
    "PAIR",
    "WHAT",
    "Counted",
    "Levels",
    "Prediction",
    "Traffic",
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


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Work of the units that multiply, as the counters of a run show it.

    Parameters
    ----------
    readers, writers : tuple of str
        Requesters of shared memory that read operands, and that write them.
    active : int
        Cycles in which the units multiply, added up.
    products : int
        Instructions; 0 on a matrix unit.

    """

    readers: tuple[str, ...]
    active: int
    writers: tuple[str, ...] = ()
    products: int = 0


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
