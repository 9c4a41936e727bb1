"""Configs of shared memory, the DMA and the AXI masters to DRAM."""

from dataclasses import dataclass

from amaranth.utils import exact_log2

from .checks import require_integer, require_power_of_two

__all__ = ["WORD_BYTES", "AxiConfig", "DmaConfig", "SharedMemoryConfig", "SharedPortConfig"]

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

    """

    size: int
    read_latency: int

    @property
    def address_width(self) -> int:
        """Bits of a byte address within shared memory."""
        return exact_log2(self.size)


@dataclass(frozen=True, kw_only=True)
class SharedMemoryConfig:
    """Shared memory in two dimensions: banks are contiguous slices, subbanks interleave words.

    Parameters
    ----------
    size : int
        Total capacity in bytes. A power of two.
    banks : int
        Contiguous slices of the address space that work in parallel. A power of two.
    subbanks : int
        4-byte words of a line, each a 1R1W memory. A power of two.
    read_latency : int
        Cycles from the grant of a read to its data, 1 or more.
    narrow_ports : int
        Lane ports of one word each; 0 without cores.

    """

    size: int = 128 * 1024
    banks: int = 4
    subbanks: int = 8
    read_latency: int = 2
    narrow_ports: int = 0

    def __post_init__(self):
        require_power_of_two("size", self.size, 16, 1 << 24)
        require_power_of_two("banks", self.banks, 1, 64)
        require_power_of_two("subbanks", self.subbanks, 1, 64)
        require_integer("read_latency", self.read_latency, 1, 8)
        require_integer("narrow_ports", self.narrow_ports, 0, 256)
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
        return SharedPortConfig(size=self.size, read_latency=self.read_latency)


@dataclass(frozen=True, kw_only=True)
class AxiConfig:
    """The AXI4 masters to DRAM.

    Parameters
    ----------
    masters : int
        Number of masters: 1, 2 or 4. Addresses interleave over them by `interleave_bytes`.
    data_width : int
        Bits of one beat.
    id_width : int
        Bits of a transaction ID.
    interleave_bytes : int
        Bytes of consecutive addresses that go to one master; the longest burst.

    """

    masters: int = 2
    data_width: int = 256
    id_width: int = 4
    interleave_bytes: int = 64

    def __post_init__(self):
        require_power_of_two("masters", self.masters, 1, 4)
        require_power_of_two("data_width", self.data_width, 32, 1024)
        require_integer("id_width", self.id_width, 1, 16)
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
        Descriptors queued before the first starts, 1 to 16.
    contexts : int
        Loads processed concurrently, 1 to 4.
    outstanding : int
        Read bursts in flight per AXI master.

    """

    queue: int = 4
    contexts: int = 2
    outstanding: int = 64

    def __post_init__(self):
        require_integer("queue", self.queue, 1, 16)
        require_integer("contexts", self.contexts, 1, 4)
        require_power_of_two("outstanding", self.outstanding, 2, 256)
