"""Timing parameters of the simple memory behind cores."""

from dataclasses import dataclass

from ...base.native_interface import NativeStructure
from ...hw.config import MachineConfig
from ...hw.config.checks import require_integer
from ...hw.isa.markers import BEGIN_MARKER, END_MARKER
from ...hw.isa.memory_map import (
    CONSOLE_BASE,
    CONSOLE_LANES,
    COUNTER_DUMP,
    COUNTER_DUMP_BYTES,
    DMA_BASE,
    SHARED_BASE,
)
from .dram import slowest_access
from .interface import HARNESS

__all__ = ["CoreMemoryConfig", "native_core_memory"]


@dataclass(frozen=True, kw_only=True)
class CoreMemoryConfig:
    """Timing of the memory behind the instruction and data ports of cores.

    A request takes effect when it is accepted, lane by lane, and is answered `latency` cycles
    later plus up to `jitter`; at most one answer of a kind per cycle and core. Each thread may have
    a reservation, which ends after 256 cycles at the latest.

    Parameters
    ----------
    latency : int
        Cycles from request to answer, at least 1.
    jitter : int
        Maximum random addition to the latency, in cycles.
    stall : float
        Share of cycles in which no request is accepted.
    silence : float
        Share of cycles without an answer.
    split : float
        Share of answers that cover only some of the threads.
    shuffle : bool
        True if any due answer may be next, instead of the oldest.
    seed : int
        Random seed.

    """

    latency: int = 1
    jitter: int = 0
    stall: float = 0.0
    silence: float = 0.0
    split: float = 0.0
    shuffle: bool = False
    seed: int = 0

    def __post_init__(self):
        require_integer("latency", self.latency, 1, 10_000)
        require_integer("jitter", self.jitter, 0, 10_000)
        for name in ("stall", "silence", "split"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, not {share!r}")
        require_integer("seed", self.seed, 0, (1 << 63) - 1)

    @property
    def slowest(self) -> int:
        """Cycles from request to answer that no access exceeds in practice."""
        return slowest_access(self.latency + self.jitter, self.stall, self.silence)


def native_core_memory(memory: CoreMemoryConfig, config: MachineConfig) -> NativeStructure:
    """Return the memory's timing and address map as a C++ structure."""
    return HARNESS.structure("CoreMemoryParameters")(
        near_base=SHARED_BASE,
        # Between shared memory and the registers behind it there are print buffers.
        near_bytes=config.shared.size + DMA_BASE,
        shared_bytes=config.shared.size,
        reserved=0,
        console_base=CONSOLE_BASE,
        console_bytes=CONSOLE_LANES,
        dump_base=COUNTER_DUMP,
        dump_bytes=config.cores * COUNTER_DUMP_BYTES,
        begin_marker=BEGIN_MARKER,
        end_marker=END_MARKER,
        latency=memory.latency,
        jitter=memory.jitter,
        is_shuffled=memory.shuffle,
        stall=memory.stall,
        silence=memory.silence,
        split=memory.split,
        seed=memory.seed,
    )
