"""Config of a cluster."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Self

from amaranth.utils import ceil_log2

from ..isa.memory_map import CONSOLE_OFFSET, WINDOW_BYTES, numbered
from .core import CoreConfig
from .memory import (
    WORD_BYTES,
    AxiConfig,
    DmaConfig,
    SharedAtomicsConfig,
    SharedMemoryConfig,
)
from .ranges import Choices, Integers, require_ranges
from .systolic import SystolicConfig
from .tensor import TensorUnitConfig
from .unit import UnitConfig

__all__ = ["MOST_UNITS", "ClusterConfig"]

#: Matrix units that a command word can select.
MOST_UNITS = 4


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """A cluster: cores, shared memory, matrix units and DMA, up to its memory masters.

    Parameters
    ----------
    cores : int
        SIMT cores, all alike; 0 if a host drives the cluster.
    core : CoreConfig or None
        Config of each core; None without cores.
    barriers : int
        Barriers of the cluster.
    barrier_scope : str
        Participants of a barrier. ``cluster``: every core, each with its own count of warps.
        ``core``: a count of warps of one core; bit 31 of the barrier number selects a barrier of
        all cores, with a count of cores.
    shared : SharedMemoryConfig
    units : tuple of UnitConfig
        Matrix units, at most 4, each with its own kind, size and format. Dotted names call them
        ``matrix``, ``matrix1`` and so on, as in counters and results.
    dma : DmaConfig or None
        None without a DMA: cores without matrix units can copy with loads and stores.
    axi : AxiConfig
        Its memory masters.

    """

    cores: Annotated[int, Integers(0, 32)] = 0
    core: CoreConfig | None = None
    barriers: Annotated[int, Integers(1, 64)] = 16
    barrier_scope: Annotated[str, Choices(("cluster", "core"))] = "cluster"
    shared: SharedMemoryConfig = field(default_factory=SharedMemoryConfig)
    units: tuple[UnitConfig, ...] = field(
        default=(SystolicConfig(),), metadata={"element": "matrix"}
    )
    dma: DmaConfig | None = field(default_factory=DmaConfig)
    axi: AxiConfig = field(default_factory=AxiConfig)

    def __post_init__(self):
        require_ranges(self)
        self.require_cores()
        if self.axi.beat_bytes > self.shared.line_bytes:
            raise ValueError(
                f"axi.data_width must not exceed a line of shared memory, "
                f"{self.shared.subbanks} subbanks x 32 = {self.shared.line_bytes * 8} bits, "
                f"not {self.axi.data_width}"
            )
        self.require_units()
        self.require_dma()
        if self.core is not None:
            core = replace(self.core, awaits_units=self.dma is not None)
            object.__setattr__(self, "core", core)
        shared = replace(self.shared, atomics=self.shared_atomics)
        object.__setattr__(self, "shared", shared)

    def require_dma(self):
        """Raise if there is no DMA and a part of the cluster needs it."""
        if not isinstance(self.dma, DmaConfig | None):
            raise TypeError(f"dma must be a DmaConfig or None, not {self.dma!r}")
        if self.dma is None and self.units:
            raise ValueError(
                "dma must not be none with matrix units, which load and store through it"
            )
        if self.dma is None and not self.cores:
            raise ValueError("dma must not be none without cores: nothing else accesses DRAM")

    def require_units(self):
        """Raise unless every matrix unit can be fed and drained and there are not too many."""
        if len(self.units) > MOST_UNITS:
            raise ValueError(
                f"units must be at most {MOST_UNITS}, as many as a command word can select, "
                f"not {len(self.units)}"
            )
        for unit in self.units:
            if unit.drain_bytes > self.axi.beat_bytes:
                raise ValueError(
                    f"axi.data_width must be at least {unit.drain_bytes * 8} bits, a beat of "
                    f"results of a matrix unit, not {self.axi.data_width}"
                )
            rows = getattr(unit, "accumulator_rows", 0)
            if unit.fill_bytes * rows > self.shared.size:
                raise ValueError(
                    f"shared.size must be at least the accumulator of a matrix unit with load_d, "
                    f"whose addresses it limits, {unit.fill_bytes * rows} bytes, "
                    f"not {self.shared.size}"
                )
            for name, width in unit.reads.items():
                if width > self.shared.line_bytes:
                    raise ValueError(
                        f"shared.subbanks must be at least {width // WORD_BYTES}, so that a line "
                        f"of {WORD_BYTES}-byte words holds a read of {name.upper()}, {width} "
                        f"bytes, not {self.shared.subbanks}"
                    )

    def require_cores(self):
        """Raise unless there are as many cores as described, with room for their windows."""
        if (self.core is None) != (self.cores == 0):
            which = "if core is none" if self.core is None else "if core is described"
            rule = "must be 0" if self.core is None else "must be at least 1"
            raise ValueError(f"cores {rule} {which}, not {self.cores}")
        if self.cores and self.axi.beat_bytes < 2 * WORD_BYTES:
            raise ValueError(
                f"axi.data_width must be at least 64 bits, two instructions, with cores, "
                f"not {self.axi.data_width}"
            )
        if self.core is not None:
            axi = self.axi
            for name, cache in (("l1i", self.core.l1i), ("l1d", self.core.l1d)):
                if not axi.beat_bytes <= cache.line_bytes <= axi.interleave_bytes:
                    raise ValueError(
                        f"core.{name}.line_bytes must be between a beat and the longest burst, "
                        f"{axi.beat_bytes} and {axi.interleave_bytes}, not {cache.line_bytes}"
                    )
        if self.cores and self.shared.size + WINDOW_BYTES > CONSOLE_OFFSET:
            raise ValueError(
                f"shared.size must leave room for registers before the console, "
                f"{self.shared.size} + {WINDOW_BYTES} bytes, not more than {CONSOLE_OFFSET}"
            )

    @property
    def named_units(self) -> dict[str, UnitConfig]:
        """Matrix units by name: ``matrix``, ``matrix1`` and so on."""
        return {numbered("matrix", number): unit for number, unit in enumerate(self.units)}

    def unit(self, number: int) -> Self:
        """Return the cluster with matrix unit `number` as its only one."""
        return replace(self, units=(self.units[number],))

    @property
    def tensor(self) -> TensorUnitConfig | None:
        """Config of the tensor units of the cores, None without them."""
        return None if self.core is None else self.core.tensor

    @property
    def product_numerics(self) -> list[str]:
        """Numerics and operand format of each kind of unit that multiplies matrices."""
        names = [f"{unit.numerics} {unit.operand}" for unit in self.units]
        if self.tensor is not None:
            names.append(f"{self.tensor.numerics} {self.tensor.operand}")
        return list(dict.fromkeys(names))

    @property
    def has_product_units(self) -> bool:
        """Whether some unit multiplies matrices: in the cluster, or in the cores."""
        return bool(self.units) or self.tensor is not None

    @property
    def core_shared_ports(self) -> int:
        """Words of shared memory that each core reads or writes per cycle."""
        if self.core is None:
            return 0
        return self.core.shared_ports or self.core.request_lanes

    @property
    def shared_atomics(self) -> SharedAtomicsConfig | None:
        """Atomics of the cores at shared memory, if any.

        A thread behind a narrow port has a number of its warp, its beat, and its lane among those
        of the port.
        """
        core = self.core
        if core is None or not core.atomics:
            return None
        beats = core.threads // core.request_lanes
        lanes = core.request_lanes // self.core_shared_ports
        return SharedAtomicsConfig(
            owner_width=sum(map(ceil_log2, (core.warps, beats, lanes))),
            reservations=core.threads,
        )

    @property
    def row_bytes(self) -> int | None:
        """Bytes that each core's row port to shared memory reads or writes per cycle, if any.

        A word of each memory lane, rounded up to a power of two, at most a line. A row of one
        word would be a narrow port.
        """
        if self.core is None or not self.core.row_port:
            return None
        words = min(1 << ceil_log2(self.core.request_lanes), self.shared.subbanks)
        return words * WORD_BYTES if words > 1 else None

    @property
    def resolved(self) -> Self:
        """The same cluster with every derived default filled in."""
        return replace(self, units=tuple(unit.resolved for unit in self.units))
