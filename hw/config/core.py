"""Config of a SIMT core."""

from dataclasses import dataclass, field, replace
from math import gcd
from typing import Annotated

from amaranth.utils import ceil_log2

from ..isa.operations import (
    EXCHANGES,
    PORTS,
    ControlOperation,
    MemoryOperation,
    Port,
    groups_of,
)
from .cache import CacheConfig
from .checks import require_integer
from .parts import BOUND, OPTIONAL, part_of
from .ranges import Choices, Integers, PowersOfTwo, require_ranges
from .tensor import TensorUnitConfig

__all__ = ["CoreConfig", "PipelineConfig"]

SCHEDULERS = ("round_robin", "greedy_then_oldest", "oldest", "two_level")
ATOMICS = (MemoryOperation.ATOMIC_B, MemoryOperation.ATOMIC_H, MemoryOperation.ATOMIC_W)
#: Field that decides whether a core has an operation of a port, for those that it may lack.
OPTION_OF = {
    **{(Port.INT, operation): "warp_operations" for operation in EXCHANGES},
    (Port.CONTROL, ControlOperation.WAIT): "awaits_units",
    **{(Port.MEMORY, operation): "atomics" for operation in ATOMICS},
    (Port.CONTROL, ControlOperation.PAUSE): "atomics",
    (Port.MEMORY, MemoryOperation.BARRIER): "transaction_barriers",
    (Port.CONTROL, ControlOperation.BARRIER_WAIT): "transaction_barriers",
}
MOST_THREADS = 32
#: Threads, or words, of a warp that a port accepts per cycle.
Lanes = Annotated[int | None, Integers(1, MOST_THREADS)]


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    """A SIMT core without the parameters that only its side of memory depends on.

    Parameters
    ----------
    warps : int
        Warps per core.
    threads : int
        Threads per warp.
    divergent_branch : str
        Behaviour of a plain branch or jump whose active threads disagree: ``error`` stops with a
        report, ``vortex`` follows the last active thread.
    tensor : TensorUnitConfig or None
        The tensor unit, None for none; its `threads` become those of the core. Dotted names call
        it by its instruction, and its fields ``tensor_numerics`` and so on.
    scheduler : str
        Selection among warps that can issue: ``round_robin``, ``greedy_then_oldest``,
        ``oldest`` or ``two_level``.
    issue_width : int
        Instructions issued per cycle; two of one warp, to different ports.
    instruction_buffer : int
        Decoded instructions buffered per warp.
    banks : int
        Register banks.
    bank_mapping : str
        ``warp``: banks as wide as a warp, register r of warp w in bank (w + r) mod banks.
        ``thread``: banks of one word, register r of thread t in bank (t + r) mod banks.
    bank_arbiter : str
        Arbitration at a bank: ``round_robin`` or ``age``.
    collectors : int
        Operand collectors: instructions that gather operands at a time.
    snoop : bool
        Whether collectors take operands from the writeback buses. If not, instructions wait until
        their operands are in the banks.
    writeback_buses : int
        Results written per cycle.
    integer_lanes, fp32_lanes, memory_lanes, special_lanes, divide_lanes : int or None
        Threads that a port accepts per cycle, a divisor of `threads`. None stands for all threads;
        for special functions for two (one if `threads` is odd), for division for one.
    warp_operations : bool
        Whether the core has votes and shuffles between the threads of a warp, on its integer lanes.
    multiply_latency : int
        Latency of an integer product in cycles.
    fma_latency : int
        Latency of a fused multiply-add in cycles.
    accesses : int
        Loads and stores of a core in flight at a time.
    awaits_units : bool
        Whether warps can wait for units of the cluster (``vx_wait``): set by the cluster, if it
        has a DMA.
    atomics : bool
        Whether the core has atomic instructions: extensions A, Zabha, Zalasr and Zihintpause, and
        the word of Zacas. The instruction-set model executes them, the RTL does not yet.
    transaction_barriers : bool
        Whether the core has transaction barriers in shared memory (``mbarrier``). The
        instruction-set model executes them, the RTL does not yet.

    """

    warps: Annotated[int, Integers(1, 32)] = 8
    threads: Annotated[int, Integers(1, MOST_THREADS)] = 8
    divergent_branch: Annotated[str, Choices(("error", "vortex"))] = "error"
    tensor: TensorUnitConfig | None = field(default=None, metadata={"variants": True})
    scheduler: Annotated[str, Choices(SCHEDULERS)] = "round_robin"
    issue_width: Annotated[int, Integers(1, 2)] = 1
    instruction_buffer: Annotated[int, Integers(2, 8)] = 4
    banks: Annotated[int, PowersOfTwo(1, 32)] = 8
    bank_mapping: Annotated[str, Choices(("warp", "thread"))] = "warp"
    bank_arbiter: Annotated[str, Choices(("round_robin", "age"))] = "round_robin"
    collectors: Annotated[int, Integers(1, 8)] = 6
    snoop: bool = True
    writeback_buses: Annotated[int, Integers(1, 4)] = 2
    integer_lanes: Lanes = None
    fp32_lanes: Lanes = None
    memory_lanes: Lanes = None
    special_lanes: Lanes = None
    divide_lanes: Lanes = None
    warp_operations: bool = True
    multiply_latency: Annotated[int, Integers(2, 4)] = 3
    fma_latency: Annotated[int, Integers(3, 6)] = 4
    accesses: Annotated[int, PowersOfTwo(1, 32)] = 32
    awaits_units: bool = field(default=False, metadata=BOUND | OPTIONAL)
    atomics: bool = field(default=False, metadata=OPTIONAL)
    transaction_barriers: bool = field(default=False, metadata=OPTIONAL)

    def __post_init__(self):
        require_ranges(self)
        self.require_lanes()
        if not isinstance(self.tensor, TensorUnitConfig | None):
            raise TypeError(f"tensor must be a TensorUnitConfig or None, not {self.tensor!r}")
        if self.tensor is not None:
            object.__setattr__(self, "tensor", replace(self.tensor, threads=self.threads))

    def require_lanes(self):
        """Raise unless the lanes of every port divide the threads of a warp."""
        for name in (info.lanes for info in PORTS.values() if info.lanes is not None):
            lanes = getattr(self, name)
            if lanes is None:
                continue
            require_integer(name, lanes, 1, self.threads)
            if self.threads % lanes:
                raise ValueError(f"{name} must divide {self.threads} threads, not {lanes}")

    @property
    def awaits_products(self) -> bool:
        """Whether a warp continues while its products are computed, and awaits them later."""
        return self.tensor is not None and self.tensor.is_asynchronous

    @property
    def tensor_reads(self) -> dict[str, int]:
        """Bytes of a read at each port of the tensor unit into shared memory, by its name."""
        return {} if self.tensor is None else self.tensor.reads

    @property
    def ports(self) -> tuple[Port, ...]:
        """Execution ports of the core, in the order of `Port`: all but those that it lacks."""
        return tuple(port for port in Port if port is not Port.TENSOR or self.tensor is not None)

    def executes(self, port: Port, operation: int) -> bool:
        """Return whether the core has an operation of a port."""
        option = OPTION_OF.get((port, operation))
        if option is not None:
            return getattr(self, option)
        is_wait = port is Port.CONTROL and operation == ControlOperation.HGMMA_WAIT
        if port is Port.TENSOR or is_wait:
            return self.tensor is not None and self.tensor.executes(port, operation)
        return True

    @property
    def credit_ports(self) -> tuple[Port, ...]:
        """Ports whose instructions issue only with a credit of their unit."""
        return tuple(port for port in self.ports if PORTS[port].has_credits)

    def credits(self, port: Port) -> int:
        """Return the operations that the unit of one of `credit_ports` has room for."""
        if port is not Port.TENSOR or self.tensor is None:
            raise ValueError(f"port must have credits, not {port.name}")
        return self.tensor.credits

    @property
    def group_sizes(self) -> list[int]:
        """Sizes of the register groups of its operations, ascending; none without any."""
        sizes = {
            groups.size
            for port in self.ports
            for operation, groups in groups_of(port, self.threads).items()
            if self.executes(port, operation)
        }
        return sorted(sizes)

    def lanes(self, port: Port) -> int:
        """Return the number of threads that `port` accepts per cycle."""
        info = PORTS[port]
        lanes = None if info.lanes is None else getattr(self, info.lanes)
        return lanes or gcd(self.threads, info.default_lanes or self.threads)

    def operands(self, port: Port) -> int:
        """Return the operands that `port` receives; a compare-and-swap has a third one."""
        return 3 if port is Port.MEMORY and self.atomics else PORTS[port].operands

    def latency(self, port: Port) -> int:
        """Return the cycles from the operands to the result of a port with `Latency.FIXED`."""
        cycles = PORTS[port].cycles
        return getattr(self, cycles) if isinstance(cycles, str) else cycles

    @property
    def request_lanes(self) -> int:
        """Lanes of a memory request."""
        return self.lanes(Port.MEMORY)

    @property
    def tag_width(self) -> int:
        """Bits of the tag of a memory request: the access (at least one bit) and the beat."""
        return max(1, ceil_log2(self.accesses)) + ceil_log2(self.threads // self.request_lanes)

    @property
    def owner_width(self) -> int:
        """Bits of the warp and the beat of an atomic request: with a lane, they are a thread."""
        return ceil_log2(self.warps) + ceil_log2(self.threads // self.request_lanes)

    @property
    def warp_width(self) -> int:
        """Bits of a warp number."""
        return ceil_log2(self.warps)

    @property
    def thread_width(self) -> int:
        """Bits of a thread number within its warp."""
        return ceil_log2(self.threads)

    @property
    def stack_depth(self) -> int:
        """Divergent splits that can be open at a time in one warp."""
        return self.threads - 1


def data_cache() -> CacheConfig:
    """Return the default config of a core's data cache."""
    return CacheConfig(ways=4, mshrs=16, prefetch=0)


@dataclass(frozen=True, kw_only=True)
class CoreConfig(PipelineConfig):
    """A SIMT core with its side of memory.

    Parameters
    ----------
    **pipeline
        Fields of `PipelineConfig`.
    transactions : int
        DRAM reads and writes in flight at a time.
    shared_ports : int or None
        Words of shared memory that a core reads or writes per cycle, a divisor of its memory
        lanes; None for one word per lane.
    row_port : bool
        Whether a core has a row port to shared memory besides: lanes that access one aligned row,
        a word for each lane, are served together.
    l1i : CacheConfig
        The instruction cache.
    l1d : CacheConfig
        The data cache; its `prefetch` must be 0.

    """

    transactions: Annotated[int, PowersOfTwo(2, 64)] = 32
    shared_ports: Lanes = None
    row_port: bool = True
    l1i: CacheConfig = field(default_factory=CacheConfig)
    l1d: CacheConfig = field(default_factory=data_cache)

    def __post_init__(self):
        super().__post_init__()
        if self.l1d.prefetch:
            raise ValueError(
                f"l1d.prefetch must be 0, as data is not prefetched, not {self.l1d.prefetch}"
            )
        lanes, ports = self.lanes(Port.MEMORY), self.shared_ports
        if ports is not None:
            require_integer("shared_ports", ports, 1, lanes)
            if lanes % ports:
                raise ValueError(f"shared_ports must divide {lanes} memory lanes, not {ports}")

    @property
    def pipeline(self) -> PipelineConfig:
        """The core without its side of memory."""
        return part_of(self, PipelineConfig)
