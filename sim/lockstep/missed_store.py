"""Race found in lockstep: a load that returned the bytes from before a complete store."""

from dataclasses import dataclass

from ...base.native_interface import NativeStructure
from ..harness.interface import HARNESS

__all__ = ["MissedStore", "missed_store_of"]


@dataclass(frozen=True)
class MissedStore:
    """A load and the store that it missed, because no fence lies between them.

    Attributes
    ----------
    cycle : int
        Cycle in which the load returned.
    core, warp, pc : int
        Instruction of the load.
    address : int
        Address of the load in its lowest lane with old bytes.
    written : int
        Cycle by which the store was complete, before the load began.
    writer : tuple of int or None
        Core, warp and pc of the store; None if the DMA or a matrix unit stored.

    """

    cycle: int
    core: int
    warp: int
    pc: int
    address: int
    written: int
    writer: tuple[int, int, int] | None

    @property
    def who(self) -> str:
        """The storing agent."""
        return "the DMA" if self.writer is None else "core {}, warp {}".format(*self.writer)


def missed_store_of(difference: NativeStructure) -> MissedStore | None:
    """Return the race that a difference is, None for other differences."""
    if not difference.is_stale:
        return None
    writer = (difference.writer, difference.writer_warp, difference.writer_pc)
    return MissedStore(
        cycle=difference.cycle,
        core=difference.core,
        warp=difference.warp,
        pc=difference.pc,
        address=difference.address,
        written=difference.written,
        writer=None if difference.writer == HARNESS.constant("kNobody") else writer,
    )
