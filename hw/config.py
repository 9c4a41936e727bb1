"""Configurations: frozen, keyword-only, checked when built; derived sizes are properties."""

from dataclasses import dataclass, field, replace

from amaranth.utils import ceil_log2, exact_log2

from .arithmetic import ARITHMETIC
from .formats import FORMATS, FloatFormat, IntFormat

__all__ = [
    "PRESETS",
    "AxiConfig",
    "ClusterConfig",
    "DmaConfig",
    "MatrixConfig",
    "SharedMemoryConfig",
]

WORD_BYTES = 4


def require_integer(name: str, value: object, low: int, high: int) -> None:
    """Raise unless `value` is an int in ``low..high``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low} and {high}, not {value!r}")


def require_power_of_two(name: str, value: object, low: int, high: int) -> None:
    """Raise unless `value` is a power of two in ``low..high``."""
    require_integer(name, value, low, high)
    assert isinstance(value, int)
    if value.bit_count() != 1:
        raise ValueError(f"{name} must be a power of two, not {value!r}")


def require_choice(name: str, value: object, choices) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class SharedMemoryConfig:
    """Shared memory in two dimensions: banks are contiguous slices, subbanks interleave words.

    Parameters
    ----------
    size : int
        Bytes in all. A power of two.
    banks : int
        Contiguous slices of the address space that work in parallel. A power of two.
    subbanks : int
        4-byte words of a line, each a 1R1W memory. A power of two.
    read_latency : int
        Cycles from the grant of a read to its data, 1 or more.
    narrow_ports : int
        Lane ports of one word each; 0 where no cores exist.

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
        return exact_log2(self.size)


@dataclass(frozen=True, kw_only=True)
class MatrixConfig:
    """A systolic matrix unit with its accumulator SRAM.

    Parameters
    ----------
    rows, columns : int
        Elements of the array: K runs down the rows, N along the columns (weight-stationary).
        Powers of two from 2 to 32.
    dataflow : str
        ``weight_stationary`` or ``output_stationary``.
    operand : str
        Format of A and B, a name in `ARITHMETIC`, which tells the formats of sums and of C.
    multiply_add_latency : int or None
        Cycles from a partial sum's arrival at an element to its departure, 1 to 6; None for what
        suits the format (`element_latency`).
    add_latency : int
        Cycles of the accumulator's adder, 1 to 4.
    accumulator_bytes : int
        Bytes of accumulator SRAM. A power of two.
    read_scale : bool
        Whether a read of the accumulator can be scaled by an FP32 factor.
    tile : tuple of int
        (M, N, K) of a CISC compute command, in elements.
    cisc_map : str
        ``current`` or ``legacy`` command words.

    """

    rows: int = 16
    columns: int = 16
    dataflow: str = "weight_stationary"
    operand: str = "fp16"
    multiply_add_latency: int | None = None
    add_latency: int = 2
    accumulator_bytes: int = 32 * 1024
    read_scale: bool = True
    tile: tuple[int, int, int] = (128, 64, 128)
    cisc_map: str = "current"

    def __post_init__(self):
        require_power_of_two("rows", self.rows, 2, 32)
        require_power_of_two("columns", self.columns, 2, 32)
        require_choice("dataflow", self.dataflow, ("weight_stationary", "output_stationary"))
        require_choice("operand", self.operand, tuple(ARITHMETIC))
        if self.multiply_add_latency is not None:
            require_integer("multiply_add_latency", self.multiply_add_latency, 1, 6)
        require_integer("add_latency", self.add_latency, 1, 4)
        require_power_of_two("accumulator_bytes", self.accumulator_bytes, 64, 1 << 20)
        require_choice("cisc_map", self.cisc_map, ("current", "legacy"))
        m, n, k = self.tile
        for name, extent, unit in (
            ("M", m, self.rows),
            ("N", n, self.columns),
            ("K", k, self.rows),
        ):
            if extent < 1 or extent % unit:
                raise ValueError(
                    f"tile {name} must be a positive multiple of {unit}, not {extent!r}"
                )
        if m * n * self.accumulator_format.width // 8 > self.accumulator_bytes:
            raise ValueError(
                f"tile must fit the accumulator: {m} x {n} x "
                f"{self.accumulator_format.width // 8} bytes = "
                f"{m * n * self.accumulator_format.width // 8}, not more than "
                f"{self.accumulator_bytes}"
            )

    @property
    def operand_format(self) -> FloatFormat | IntFormat:
        """Format of one element of A and B."""
        return FORMATS[self.operand]

    @property
    def accumulator_format(self) -> FloatFormat | IntFormat:
        """Format of partial sums and of the accumulator."""
        return FORMATS[ARITHMETIC[self.operand].accumulator]

    @property
    def narrow_format(self) -> FloatFormat | IntFormat:
        """Format of C where a command does not ask for the accumulator's."""
        return FORMATS[ARITHMETIC[self.operand].narrow]

    @property
    def narrows(self) -> bool:
        """Whether C can have another format than the accumulator."""
        return self.narrow_format != self.accumulator_format

    @property
    def wide_bytes(self) -> int:
        """Bytes of one element of C in the accumulator's format."""
        return self.accumulator_format.width // 8

    @property
    def narrow_bytes(self) -> int:
        """Bytes of one element of C in the narrow format."""
        return self.narrow_format.width // 8

    @property
    def scales(self) -> bool:
        """Whether results can be scaled on their way out: floats, where there is a multiplier."""
        return self.read_scale and isinstance(self.accumulator_format, FloatFormat)

    @property
    def element_latency(self) -> int:
        """Cycles from a partial sum's arrival at an element to its departure."""
        if self.multiply_add_latency is None:
            return ARITHMETIC[self.operand].latency
        return self.multiply_add_latency

    @property
    def macs(self) -> int:
        """Peak multiply-adds per cycle."""
        return self.rows * self.columns

    @property
    def operand_bytes(self) -> int:
        """Bytes of one element of A and B."""
        return self.operand_format.width // 8

    @property
    def a_bytes(self) -> int:
        """Bytes of one read of A: the elements that enter the array in one cycle."""
        return max(WORD_BYTES, self.rows * self.operand_bytes)

    @property
    def b_bytes(self) -> int:
        """Bytes of one read of B: one row of weights."""
        return max(WORD_BYTES, self.columns * self.operand_bytes)

    @property
    def drain_bytes(self) -> int:
        """Bytes of one beat of results that leave the accumulator: half a row of it, at most 32."""
        return min(2 * self.columns, 32)

    @property
    def accumulator_rows(self) -> int:
        """Depth of the accumulator SRAM; a row holds one value per column."""
        return self.accumulator_bytes * 8 // (self.columns * self.accumulator_format.width)

    @property
    def accumulator_address_width(self) -> int:
        """Bits of an accumulator row address."""
        return ceil_log2(self.accumulator_rows)


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
        Bits of a transaction id.
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
        Jobs accepted before the first is begun, 1 to 16.
    contexts : int
        Loads in progress side by side, 1 to 4.
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


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """A cluster: shared memory, matrix units, DMA, and what it shows outside.

    Parameters
    ----------
    shared : SharedMemoryConfig
    matrix : MatrixConfig or None
        The matrix unit; None where the cluster has none.
    dma : DmaConfig
    axi : AxiConfig

    """

    shared: SharedMemoryConfig = field(default_factory=SharedMemoryConfig)
    matrix: MatrixConfig | None = field(default_factory=MatrixConfig)
    dma: DmaConfig = field(default_factory=DmaConfig)
    axi: AxiConfig = field(default_factory=AxiConfig)

    def __post_init__(self):
        if self.axi.beat_bytes > self.shared.line_bytes:
            raise ValueError(
                f"axi.data_width must not exceed a line of shared memory, "
                f"{self.shared.subbanks} subbanks x 32 = {self.shared.line_bytes * 8} bits, "
                f"not {self.axi.data_width}"
            )
        if self.matrix is not None:
            if self.matrix.drain_bytes > self.axi.beat_bytes:
                raise ValueError(
                    f"axi.data_width must be at least {self.matrix.drain_bytes * 8} bits, a "
                    f"beat of results of {self.matrix.columns} columns, not {self.axi.data_width}"
                )
            self.require_wide_lines(self.matrix)

    def require_wide_lines(self, matrix: MatrixConfig):
        """Raise unless a line of shared memory holds what enters the array in one cycle."""
        for name, elements, width in (
            ("A", matrix.rows, matrix.a_bytes),
            ("B", matrix.columns, matrix.b_bytes),
        ):
            if width > self.shared.line_bytes:
                raise ValueError(
                    f"shared.subbanks must be at least {width // WORD_BYTES}, so that a line of "
                    f"{WORD_BYTES}-byte words holds a read of {name}, {elements} elements of "
                    f"{matrix.operand}, not {self.shared.subbanks}"
                )

    @property
    def resolved(self) -> "ClusterConfig":
        """The same machine, with the value of everything that was left to follow from the rest."""
        if self.matrix is None:
            return self
        matrix = replace(self.matrix, multiply_add_latency=self.matrix.element_latency)
        return replace(self, matrix=matrix)


PRESETS: dict[str, ClusterConfig] = {
    "tiny_matrix": ClusterConfig(
        shared=SharedMemoryConfig(size=16 * 1024, banks=2, subbanks=4),
        matrix=MatrixConfig(rows=4, columns=4, accumulator_bytes=2048, tile=(32, 16, 32)),
        axi=AxiConfig(data_width=128),
        dma=DmaConfig(outstanding=16),
    ),
    "matrix": ClusterConfig(),
    "matrix_fp32": ClusterConfig(
        shared=SharedMemoryConfig(size=256 * 1024, banks=8),
        matrix=MatrixConfig(
            rows=8, columns=8, operand="fp32", accumulator_bytes=16 * 1024, tile=(64, 64, 64)
        ),
    ),
}
