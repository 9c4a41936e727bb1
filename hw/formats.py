"""Number formats as data."""

from dataclasses import dataclass

__all__ = ["FORMATS", "FP16", "FP32", "INT8", "INT32", "FloatFormat", "IntFormat"]


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format of IEEE 754 kind.

    Parameters
    ----------
    name : str
        The name used in configurations.
    exponent_width : int
        Bits of the biased exponent. The largest code is infinity or NaN.
    significand_width : int
        Bits of the significand with its hidden bit.

    """

    name: str
    exponent_width: int
    significand_width: int

    @property
    def width(self) -> int:
        """Bits of one stored value: sign, exponent, fraction."""
        return self.exponent_width + self.significand_width

    @property
    def fraction_width(self) -> int:
        """Bits of the stored fraction."""
        return self.significand_width - 1

    @property
    def bias(self) -> int:
        """What the stored exponent exceeds the true one by."""
        return (1 << (self.exponent_width - 1)) - 1

    @property
    def least_exponent(self) -> int:
        """True exponent of the least subnormal number."""
        return 1 - self.bias - self.fraction_width

    @property
    def fraction_mask(self) -> int:
        """Ones in the stored fraction, which is the low end of a stored value."""
        return (1 << self.fraction_width) - 1

    @property
    def exponent_mask(self) -> int:
        """The largest code of the exponent: infinity or NaN."""
        return (1 << self.exponent_width) - 1

    @property
    def infinity(self) -> int:
        """Stored bits of positive infinity."""
        return self.exponent_mask << self.fraction_width

    @property
    def nan(self) -> int:
        """Stored bits of the canonical quiet NaN, the only one ever produced."""
        return self.infinity | 1 << (self.fraction_width - 1)


@dataclass(frozen=True, kw_only=True)
class IntFormat:
    """A two's complement integer format of `width` bits."""

    name: str
    width: int


FP16 = FloatFormat(name="fp16", exponent_width=5, significand_width=11)
FP32 = FloatFormat(name="fp32", exponent_width=8, significand_width=24)
INT8 = IntFormat(name="int8", width=8)
INT32 = IntFormat(name="int32", width=32)

FORMATS: dict[str, FloatFormat | IntFormat] = {
    form.name: form for form in (FP16, FP32, INT8, INT32)
}
