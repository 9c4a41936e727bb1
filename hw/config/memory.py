"""Configs of shared memory, the DMA and the AXI masters to DRAM."""

from dataclasses import dataclass, field
from typing import Annotated

from amaranth.utils import exact_log2

from .checks import require_power_of_two
from .parts import BOUND, OPTIONAL
from .ranges import Integers, PowersOfTwo, require_ranges

__all__ = [
    "WORD_BYTES",
    "AxiConfig",
    "DmaConfig",
    "SharedAtomicsConfig",
    "SharedMemoryConfig",
    "SharedPortConfig",
]

WORD_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class SharedPortConfig:
    """Shared memory as its requesters see it, `SharedMemoryConfig.port`.

    Parameters
    ----------
    size : int
        Total capacity in bytes. A power of two.
    read_latency : int
        Cycles from the grant of a read to its data.
    owner_width : int or None
        Bits of the number of a thread behind a narrow port, None without atomics.

    """

    size: int
    read_latency: int
    owner_width: int | None = field(default=None, metadata=OPTIONAL)

    @property
    def address_width(self) -> int:
        """Bits of a byte address within shared memory."""
        return exact_log2(self.size)


@dataclass(frozen=True, kw_only=True)
class SharedAtomicsConfig:
    """Atomics at the narrow ports of shared memory.

    Parameters
    ----------
    owner_width : int
        Bits of the number of a thread behind a narrow port.
    reservations : int
        Reservations at a time in a bank, as many as a warp has threads.

    """

    owner_width: Annotated[int, Integers(0, 12)] = 4
    reservations: Annotated[int, Integers(1, 32)] = 8

    def __post_init__(self):
        require_ranges(self)


@dataclass(frozen=True, kw_only=True)
class SharedMemoryConfig:
    """Shared memory in two dimensions: banks are contiguous slices, subbanks interleave words.

    Parameters
    ----------
    size : int
        Total capacity in bytes.
    banks : int
        Contiguous slices of the address space that work in parallel.
    subbanks : int
        4-byte words of a line, each a 1R1W memory.
    read_latency : int
        Cycles from the grant of a read to its data.
    narrow_ports : int
        Lane ports of one word each; 0 without cores.
    atomics : SharedAtomicsConfig or None
        Atomics of lanes; `ClusterConfig` sets it from those of its cores.

    """

    size: Annotated[int, PowersOfTwo(16, 1 << 24)] = 128 * 1024
    banks: Annotated[int, PowersOfTwo(1, 64)] = 4
    subbanks: Annotated[int, PowersOfTwo(1, 64)] = 8
    read_latency: Annotated[int, Integers(1, 8)] = 2
    narrow_ports: Annotated[int, Integers(0, 256)] = 0
    atomics: SharedAtomicsConfig | None = field(default=None, metadata=BOUND | OPTIONAL)

    def __post_init__(self):
        require_ranges(self)
        if self.lines < 2:
            raise ValueError(
                f"size must give each bank 2 lines or more: {self.banks} banks x {self.subbanks} "
                f"subbanks x {WORD_BYTES} bytes x 2 = "
                f"{self.banks * self.line_bytes * 2} bytes, not {self.size}"
            )

    @property
    def line_bytes(self) -> int:
        """Bytes of one line: one word of each subbank of a bank."""
        return self.subbanks * WORD_BYTES

    @property
    def lines(self) -> int:
        """Lines of one bank, the depth of every subbank."""
        return self.size // (self.banks * self.line_bytes)

    @property
    def address_width(self) -> int:
        """Bits of a byte address within shared memory."""
        return self.port.address_width

    @property
    def port(self) -> SharedPortConfig:
        """Config of the interface to requesters."""
        return SharedPortConfig(
            size=self.size,
            read_latency=self.read_latency,
            owner_width=None if self.atomics is None else self.atomics.owner_width,
        )


@dataclass(frozen=True, kw_only=True)
class AxiConfig:
    """The AXI4 masters to DRAM.

    Parameters
    ----------
    masters : int
        Number of masters. Addresses interleave over them by `interleave_bytes`.
    data_width : int
        Bits of one beat.
    id_width : int
        Bits of a transaction ID, without cores. With cores a slice of the L2 numbers its reads.
    interleave_bytes : int
        Bytes of consecutive addresses that go to one master; the longest burst.

    """

    masters: Annotated[int, PowersOfTwo(1, 4)] = 2
    data_width: Annotated[int, PowersOfTwo(32, 1024)] = 256
    id_width: Annotated[int, Integers(1, 16)] = 4
    interleave_bytes: Annotated[int, PowersOfTwo(4, 4096)] = 64

    def __post_init__(self):
        require_ranges(self)
        # A burst has at most 256 beats and lies within 4 KB.
        longest = min(4096, 256 * self.beat_bytes)
        require_power_of_two("interleave_bytes", self.interleave_bytes, self.beat_bytes, longest)

    @property
    def beat_bytes(self) -> int:
        """Bytes of one beat."""
        return self.data_width // 8

    @property
    def burst_beats(self) -> int:
        """Beats of the longest burst."""
        return self.interleave_bytes // self.beat_bytes


@dataclass(frozen=True, kw_only=True)
class DmaConfig:
    """The DMA engine.

    Parameters
    ----------
    queue : int
        Descriptors queued before the first starts.
    contexts : int
        Loads processed concurrently.
    outstanding : int
        Read bursts in flight per AXI master.

    """

    queue: Annotated[int, Integers(1, 16)] = 4
    contexts: Annotated[int, Integers(1, 4)] = 2
    outstanding: Annotated[int, PowersOfTwo(2, 256)] = 64

    def __post_init__(self):
        require_ranges(self)
