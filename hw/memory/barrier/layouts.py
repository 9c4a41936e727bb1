"""Config, layouts and interfaces of the unit of transaction barriers."""

from dataclasses import dataclass
from typing import Annotated

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import SharedPortConfig
from ...config.ranges import Integers, require_ranges
from ...isa.transaction_barrier import BARRIER_BYTES, BarrierFault, BarrierOperation

__all__ = [
    "BarrierUnitConfig",
    "BarrierUpdateSignature",
    "answer_layout",
    "completed_layout",
    "completion_layout",
    "request_layout",
]


@dataclass(frozen=True, kw_only=True)
class BarrierUnitConfig:
    """Shape of the unit of transaction barriers of a cluster.

    Parameters
    ----------
    shared : SharedPortConfig
        Shared memory, which has the barriers.
    requesters : int
        Cores, each with a stream of operations of its lanes.
    units : int
        Sources of completions: channels of the DMA, and matrix units.
    tag_width : int
        Bits of the tag of an operation, which its answer returns.
    entries : int
        Barriers in progress at a time.

    """

    shared: SharedPortConfig
    requesters: Annotated[int, Integers(1, 32)] = 4
    units: Annotated[int, Integers(0, 16)] = 2
    tag_width: Annotated[int, Integers(1, 16)] = 8
    entries: Annotated[int, Integers(1, 16)] = 4

    def __post_init__(self):
        require_ranges(self)

    @property
    def sources(self) -> int:
        """Requesters, numbered first, and units."""
        return self.requesters + self.units

    @property
    def place_width(self) -> int:
        """Bits of the number of a barrier: of its address without the lowest bits, which are 0."""
        return self.shared.address_width - ceil_log2(BARRIER_BYTES)


def request_layout(config: BarrierUnitConfig) -> data.StructLayout:
    """Return the layout of an operation of a lane, with its address and rs2."""
    return data.StructLayout({
        "operation": BarrierOperation,
        "address": 32,
        "operand": 32,
        "tag": config.tag_width,
    })


def completion_layout() -> data.StructLayout:
    """Return the layout of a completion of a unit: of bytes, or an arrival if `arrives` is set."""
    return data.StructLayout({"address": 32, "bytes": 20, "arrives": 1})


def answer_layout(config: BarrierUnitConfig) -> data.StructLayout:
    """Return the layout of an answer: `result` is that of rd."""
    return data.StructLayout({
        "source": ceil_log2(config.sources),
        "tag": config.tag_width,
        "result": 1,
        "fault": BarrierFault,
    })


def completed_layout(config: BarrierUnitConfig) -> data.StructLayout:
    """Return the layout of the end of a phase: number of the barrier and parity of the phase."""
    return data.StructLayout({"place": config.place_width, "parity": 1})


class BarrierUpdateSignature(wiring.Signature):
    """An operation on the 8 bytes of a barrier, seen from its source.

    Members
    -------
    operation : Out(BarrierOperation)
    word : Out(64)
        The bytes, in the layout of `BARRIER_LAYOUT`.
    operand : Out(32)
    new_word : In(64)
        The bytes afterwards, if `writes` is set.
    writes : In(1)
    result : In(1)
    completes : In(1)
        The phase of the parity in `word` completes.
    fault : In(BarrierFault)
    """

    def __init__(self):
        super().__init__({
            "operation": Out(BarrierOperation),
            "word": Out(64),
            "operand": Out(32),
            "new_word": In(64),
            "writes": In(1),
            "result": In(1),
            "completes": In(1),
            "fault": In(BarrierFault),
        })
