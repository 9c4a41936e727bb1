"""Faults of the units of a core that access memory."""

from amaranth.lib import data, enum

from ...config import PipelineConfig, RunControlConfig
from .core_memory import warp_shape

__all__ = ["MemoryFault", "memory_fault_layout"]


class MemoryFault(enum.IntEnum, shape=2):
    """Kind of a memory fault."""

    MISALIGNED = 0  #: the address is not a multiple of the size
    UNADDRESSABLE = 1  #: the address is below all memory
    REFUSED = 2  #: memory answered with an error
    NOT_SHARED = 3  #: an operand of a matrix product does not lie in shared memory


def memory_fault_layout(config: PipelineConfig | RunControlConfig) -> data.StructLayout:
    """Return the layout of a fault: the faulting threads, and the address of the lowest of them."""
    return data.StructLayout({
        "warp": warp_shape(config),
        "pc": 32,
        "mask": config.threads,
        "kind": MemoryFault,
        "address": 32,
    })
