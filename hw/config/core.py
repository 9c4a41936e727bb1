"""Config of a SIMT core."""

from dataclasses import dataclass, field, fields
from math import gcd

from amaranth.utils import ceil_log2

from ..isa.operations import PORTS, ControlOperation, Port, TensorOperation, groups_of
from .cache import CacheConfig
from .checks import require_choice, require_integer, require_power_of_two
from .tensor import HgmmaConfig, TensorConfig

__all__ = ["CoreConfig", "PipelineConfig"]


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    """A SIMT core without the parameters that only its side of memory depends on.

    Parameters
    ----------
    warps : int
        Warps per core, 1 to 32.
    threads : int
        Threads per warp, 1 to 32.
    divergent_branch : str
        Behaviour of a plain branch or jump whose active threads disagree: ``error`` stops with a
        report, ``vortex`` follows the last active thread.
    tensor : str or None
        Tensor instructions: ``hmma`` on registers, ``hgmma`` on shared memory, None for none.
        Warps have 8 threads, with ``hmma`` 8 or 32.
    tensor_numerics, tensor_operand : str
        Numerics and operand format of the tensor instructions; see `TensorConfig`.
    tensor_layout : str
        Layout of the operands of ``hgmma`` in shared memory, ``dense`` or ``swizzle128``; see
        `HgmmaConfig`.
    tensor_queue : int
        Products that the unit of ``hgmma`` holds at a time, 1 to 8: queued, computed or written
        to registers.
    scheduler : str
        Selection among warps that can issue: ``round_robin``, ``greedy_then_oldest``,
        ``oldest`` or ``two_level``.
    issue_width : int
        Instructions issued per cycle, 1 or 2; two of one warp, to different ports.
    instruction_buffer : int
        Decoded instructions buffered per warp, 2 to 8.
    banks : int
        Register banks, 1 to 32. A power of two.
    bank_mapping : str
        ``warp``: banks as wide as a warp, register r of warp w in bank (w + r) mod banks.
        ``thread``: banks of one word, register r of thread t in bank (t + r) mod banks.
    bank_arbiter : str
        Arbitration at a bank: ``round_robin`` or ``age``.
    collectors : int
        Operand collectors: instructions that gather operands at a time, 1 to 8.
    snoop : bool
        Whether collectors take operands from the writeback buses. If not, instructions wait until
        their operands are in the banks.
    writeback_buses : int
        Results written per cycle, 1 to 4.
    integer_lanes, fp32_lanes, memory_lanes, special_lanes, divide_lanes : int or None
        Threads that a port accepts per cycle, a divisor of `threads`. None stands for all threads;
        for special functions for two (one if `threads` is odd), for division for one.
    multiply_latency : int
        Latency of an integer product in cycles, 2 to 4.
    fma_latency : int
        Latency of a fused multiply-add in cycles, 3 to 6.
    accesses : int
        Loads and stores of a core in flight at a time, 1 to 32. A power of two.

    """

    warps: int = 8
    threads: int = 8
    divergent_branch: str = "error"
    tensor: str | None = None
    tensor_numerics: str = "virgo_hmma"
    tensor_operand: str = "fp16"
    tensor_layout: str = "dense"
    tensor_queue: int = 4
    scheduler: str = "round_robin"
    issue_width: int = 1
    instruction_buffer: int = 4
    banks: int = 8
    bank_mapping: str = "warp"
    bank_arbiter: str = "round_robin"
    collectors: int = 6
    snoop: bool = True
    writeback_buses: int = 2
    integer_lanes: int | None = None
    fp32_lanes: int | None = None
    memory_lanes: int | None = None
    special_lanes: int | None = None
    divide_lanes: int | None = None
    multiply_latency: int = 3
    fma_latency: int = 4
    accesses: int = 32

    def __post_init__(self):
        self.require_pipeline()
        require_integer("warps", self.warps, 1, 32)
        require_integer("threads", self.threads, 1, 32)
        require_choice("divergent_branch", self.divergent_branch, ("error", "vortex"))
        if self.tensor is not None:
            require_choice("tensor", self.tensor, ("hmma", "hgmma"))
            if self.tensor == "hgmma" and self.threads != 8:
                raise ValueError(f"threads must be 8 with hgmma, not {self.threads}")
        if self.tensor != "hgmma" and self.tensor_layout != "dense":
            raise ValueError(
                "tensor_layout applies to tensor hgmma; without it, tensor_layout must be dense, "
                f"not {self.tensor_layout!r}"
            )
        _ = self.hgmma_config if self.tensor == "hgmma" else self.tensor_config  # their own checks

    def require_pipeline(self):
        """Raise unless the microarchitectural parameters are in range."""
        schedulers = ("round_robin", "greedy_then_oldest", "oldest", "two_level")
        require_choice("scheduler", self.scheduler, schedulers)
        require_integer("issue_width", self.issue_width, 1, 2)
        require_integer("instruction_buffer", self.instruction_buffer, 2, 8)
        require_power_of_two("banks", self.banks, 1, 32)
        require_integer("tensor_queue", self.tensor_queue, 1, 8)
        require_choice("bank_mapping", self.bank_mapping, ("warp", "thread"))
        require_choice("bank_arbiter", self.bank_arbiter, ("round_robin", "age"))
        require_integer("collectors", self.collectors, 1, 8)
        require_integer("writeback_buses", self.writeback_buses, 1, 4)
        require_integer("multiply_latency", self.multiply_latency, 2, 4)
        require_integer("fma_latency", self.fma_latency, 3, 6)
        require_power_of_two("accesses", self.accesses, 1, 32)
        for name in (info.lanes for info in PORTS.values() if info.lanes is not None):
            lanes = getattr(self, name)
            if lanes is None:
                continue
            require_integer(name, lanes, 1, self.threads)
            if self.threads % lanes:
                raise ValueError(f"{name} must divide {self.threads} threads, not {lanes}")

    @property
    def tensor_config(self) -> TensorConfig:
        """Numerics of the tensor instructions, and shape of ``hmma``, if there are any."""
        threads = self.threads if self.tensor == "hmma" else 8
        return TensorConfig(
            numerics=self.tensor_numerics, operand=self.tensor_operand, threads=threads
        )

    @property
    def hgmma_config(self) -> HgmmaConfig:
        """Numerics and shape of ``hgmma``."""
        return HgmmaConfig(
            numerics=self.tensor_numerics, operand=self.tensor_operand, layout=self.tensor_layout
        )

    @property
    def ports(self) -> tuple[Port, ...]:
        """Execution ports of the core, in the order of `Port`: all but those that it lacks."""
        return tuple(port for port in Port if port is not Port.TENSOR or self.tensor is not None)

    def executes(self, port: Port, operation: int) -> bool:
        """Return whether the core has an operation of a port."""
        if port is Port.TENSOR:
            return self.tensor is not None and operation == TensorOperation[self.tensor.upper()]
        is_wait = port is Port.CONTROL and operation == ControlOperation.HGMMA_WAIT
        return self.tensor == "hgmma" if is_wait else True

    @property
    def credit_ports(self) -> tuple[Port, ...]:
        """Ports whose instructions issue only with a credit of their unit."""
        return tuple(port for port in self.ports if PORTS[port].credits is not None)

    def credits(self, port: Port) -> int:
        """Return the operations that the unit of one of `credit_ports` has room for."""
        credits = PORTS[port].credits
        assert credits is not None
        return self.tensor_queue if self.tensor == "hgmma" else credits

    @property
    def group_sizes(self) -> list[int]:
        """Sizes of the register groups of its operations, ascending; none without any."""
        found = {
            groups.size
            for port in self.ports
            for operation, groups in groups_of(port, self.threads).items()
            if self.executes(port, operation)
        }
        return sorted(found)

    def lanes(self, port: Port) -> int:
        """Return the number of threads that `port` accepts per cycle."""
        info = PORTS[port]
        lanes = None if info.lanes is None else getattr(self, info.lanes)
        return lanes or gcd(self.threads, info.default_lanes or self.threads)

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
        DRAM reads and writes in flight at a time, 2 to 64. A power of two.
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

    transactions: int = 32
    shared_ports: int | None = None
    row_port: bool = True
    l1i: CacheConfig = field(default_factory=CacheConfig)
    l1d: CacheConfig = field(default_factory=data_cache)

    def __post_init__(self):
        super().__post_init__()
        require_power_of_two("transactions", self.transactions, 2, 64)
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
        own = (each.name for each in fields(PipelineConfig))
        return PipelineConfig(**{name: getattr(self, name) for name in own})
