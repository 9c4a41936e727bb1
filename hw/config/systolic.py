"""Config of a systolic matrix unit."""

from dataclasses import dataclass, replace
from typing import Annotated

from amaranth.utils import ceil_log2

from .arithmetic import ARITHMETIC
from .formats import FloatFormat
from .memory import WORD_BYTES
from .ranges import Choices, Integers, PowersOfTwo
from .unit import UnitConfig

__all__ = ["SystolicConfig"]

DATAFLOWS = ("weight_stationary", "output_stationary")


@dataclass(frozen=True, kw_only=True)
class SystolicConfig(UnitConfig):
    """A systolic matrix unit with its accumulator SRAM.

    Parameters
    ----------
    rows, columns : int
        Dimensions of the array: K runs down the rows, N along the columns (weight-stationary).
    dataflow : str
        ``weight_stationary`` or ``output_stationary``.
    operand : str
        Format of A and B, a key of `ARITHMETIC`, which gives the formats of sums and of C.
    multiply_add_latency : int or None
        Cycles from a partial sum's arrival at an element to its departure; None for the default of
        the format (`element_latency`).
    add_latency : int
        Latency of the accumulator's adder in cycles.
    accumulator_bytes : int
        Capacity of the accumulator SRAM in bytes.
    read_scale : bool
        Whether a read of the accumulator can be scaled by an FP32 factor.
    row_scale : bool
        Whether a compute can multiply each row of the accumulator by a scale of its own before it
        adds to it, up to M of `tile` rows. Of weight-stationary arrays with FP32 sums.
    load_d : bool
        Whether a command can load D, rows in the format of the accumulator, from DRAM or shared
        memory into the accumulator.
    tile : tuple of int
        (M, N, K) of a CISC compute command, in elements.
    cisc_map : str
        Encoding of the CISC command words: ``current`` or ``legacy``.

    """

    rows: Annotated[int, PowersOfTwo(2, 32)] = 16
    columns: Annotated[int, PowersOfTwo(2, 32)] = 16
    dataflow: Annotated[str, Choices(DATAFLOWS)] = "weight_stationary"
    multiply_add_latency: Annotated[int | None, Integers(1, 6)] = None
    add_latency: Annotated[int, Integers(1, 4)] = 2
    accumulator_bytes: Annotated[int, PowersOfTwo(64, 1 << 20)] = 32 * 1024
    read_scale: bool = True
    row_scale: bool = False
    load_d: bool = False
    tile: tuple[int, int, int] = (128, 64, 128)
    cisc_map: Annotated[str, Choices(("current", "legacy"))] = "current"

    def __post_init__(self):
        super().__post_init__()
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
    def narrows(self) -> bool:
        """Whether C can have another format than the accumulator."""
        return self.narrow_format != self.accumulator_format

    @property
    def scales(self) -> bool:
        """Whether results can be scaled while drained: floats, if there is a multiplier."""
        return self.read_scale and isinstance(self.accumulator_format, FloatFormat)

    @property
    def scales_rows(self) -> bool:
        """Whether computes can scale rows: weight-stationary, floats, if there are multipliers."""
        is_able = self.dataflow == "weight_stationary"
        return self.row_scale and is_able and isinstance(self.accumulator_format, FloatFormat)

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
    def a_bytes(self) -> int:
        """Bytes of one read of A: the elements that enter the array in one cycle."""
        return max(WORD_BYTES, self.rows * self.operand_bytes)

    @property
    def b_bytes(self) -> int:
        """Bytes of one read of B: one row of weights."""
        return max(WORD_BYTES, self.columns * self.operand_bytes)

    @property
    def numerics(self) -> str:
        """``systolic_ws`` or ``systolic_os``, by the dataflow."""
        names = {"weight_stationary": "systolic_ws", "output_stationary": "systolic_os"}
        return names[self.dataflow]

    @property
    def summary(self) -> str:
        """Size of the array, format of the operands and size of the accumulator."""
        accumulator = f"{self.accumulator_bytes // 1024} KB accumulator"
        return f"{self.rows}x{self.columns} {self.operand}, {accumulator}"

    @property
    def reads(self) -> dict[str, int]:
        """Bytes of a read at each port into shared memory: A and B."""
        return {"a": self.a_bytes, "b": self.b_bytes}

    def chain(self, length: int) -> int:
        """Return the rows of an array through which sums move, or all of a sum that stays."""
        return self.rows if self.dataflow == "weight_stationary" else length

    @property
    def resolved(self) -> "SystolicConfig":
        """The same unit with the default of `multiply_add_latency` filled in."""
        return replace(self, multiply_add_latency=self.element_latency)

    @property
    def drain_bytes(self) -> int:
        """Bytes of one beat of drained results: half a row of the accumulator, at most 32."""
        return min(2 * self.columns, 32)

    @property
    def fill_bytes(self) -> int:
        """Bytes of a row of the accumulator, if commands can load D."""
        return self.columns * self.wide_bytes if self.load_d else 0

    @property
    def accumulator_rows(self) -> int:
        """Depth of the accumulator SRAM; a row holds one value per column."""
        return self.accumulator_bytes * 8 // (self.columns * self.accumulator_format.width)

    @property
    def accumulator_address_width(self) -> int:
        """Bits of an accumulator row address."""
        return ceil_log2(self.accumulator_rows)
