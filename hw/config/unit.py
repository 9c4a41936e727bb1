"""Base of the configs of matrix units."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Self

from .arithmetic import ARITHMETIC
from .formats import FORMATS, FloatFormat, IntFormat
from .ranges import Choices, require_ranges

__all__ = ["UnitConfig"]


@dataclass(frozen=True, kw_only=True)
class UnitConfig(ABC):
    """A matrix unit of any kind: the properties that its cluster, its kernels and reports use.

    The class of a config selects the kind of the unit in the tables of kinds: `MATRIX_STYLES` of
    ``hw.styles.registry``, `UNIT_MODELS` of ``sim.iss.device.unit_models`` and `GOLDEN_PRODUCTS` of
    ``sim.golden.styles.registry``.

    Parameters
    ----------
    operand : str
        Format of A and B, a key of `ARITHMETIC`, which gives the formats of sums and of C.

    """

    operand: Annotated[str, Choices(tuple(ARITHMETIC))] = "fp16"

    def __post_init__(self):
        require_ranges(self)

    @property
    @abstractmethod
    def reads(self) -> dict[str, int]:
        """Bytes of a read at each port into shared memory, by the name of the port."""

    @property
    @abstractmethod
    def drain_bytes(self) -> int:
        """Bytes of one beat of results on the way to the DMA."""

    @property
    def fill_bytes(self) -> int:
        """Bytes of a row of the accumulator that the DMA can write; 0 if it writes none."""
        return 0

    @property
    @abstractmethod
    def macs(self) -> int:
        """Peak multiply-adds per cycle."""

    @property
    @abstractmethod
    def numerics(self) -> str:
        """Name of the order and the roundings of a sum, as its golden function is called."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """Size and formats in a few words, for lists of machines."""

    def chain(self, length: int) -> int:
        """Return the products of a sum of `length` that are added before the accumulator adds."""
        return length

    @property
    def resolved(self) -> Self:
        """The same unit with every derived default filled in."""
        return self

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
        """Format of C unless a command selects the accumulator's."""
        return FORMATS[ARITHMETIC[self.operand].narrow]

    @property
    def operand_bytes(self) -> int:
        """Bytes of one element of A and B."""
        return self.operand_format.width // 8

    @property
    def wide_bytes(self) -> int:
        """Bytes of one element of C in the accumulator's format."""
        return self.accumulator_format.width // 8

    @property
    def narrow_bytes(self) -> int:
        """Bytes of one element of C in the narrow format."""
        return self.narrow_format.width // 8
