"""Golden model of the dispatch of a core's lanes to shared memory."""

from .....hw.memory.shared.shared_memory import SharedMemoryPorts
from ..shared.shared_timing import cycles_of_lanes

__all__ = ["dispatch_cycles", "is_row"]


def is_row(row_bytes: int | None, addresses: list[int]) -> bool:
    """Return whether the row port serves these lanes: all are in one aligned row."""
    return row_bytes is not None and len({address // row_bytes for address in addresses}) == 1


def dispatch_cycles(config: SharedMemoryPorts, addresses: list[int], write: bool = False) -> int:
    """Return the cycles of a request of all lanes of the only core at idle memory.

    A row takes one cycle, other lanes those of `cycles_of_lanes`.
    """
    if is_row(config.row_bytes, addresses):
        return 1
    return cycles_of_lanes(config, addresses, write)
