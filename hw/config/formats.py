"""Number formats as data."""

from dataclasses import dataclass

__all__ = [
    "BF16",
    "E8M0",
    "FORMATS",
    "FP4_E2M1",
    "FP6_E2M3",
    "FP6_E3M2",
    "FP8_E4M3",
    "FP8_E5M2",
    "FP16",
    "FP32",
    "INT4",
    "INT8",
    "INT32",
    "TF32",
    "UE4M3",
    "FloatFormat",
    "IntFormat",
]

IEEE, NAN, NONE = "ieee", "nan", "none"


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format.

    A stored value is a sign, a biased exponent and a fraction, from the most significant bit
    down, so that stored magnitudes are ordered like their values.

    Parameters
    ----------
    name : str
        The name used in configurations.
    exponent_width : int
        Bits of the biased exponent.
    significand_width : int
        Bits of the significand with its hidden bit.
    specials : str
        Codes that are not numbers. ``ieee``: the largest exponent is infinity or NaN; ``nan``: only
        the all-ones code is NaN; ``none``: every code is a number.
    signed : bool
        Whether the format has a sign bit.
    subnormals : bool
        Whether exponent 0 means zero and subnormals; if not, it is an ordinary exponent.

    """

    name: str
    exponent_width: int
    significand_width: int
    specials: str = IEEE
    signed: bool = True
    subnormals: bool = True

    @property
    def width(self) -> int:
        """Bits of one stored value: sign, exponent, fraction."""
        return self.magnitude_width + self.signed

    @property
    def magnitude_width(self) -> int:
        """Bits of one stored value without its sign."""
        return self.exponent_width + self.fraction_width

    @property
    def fraction_width(self) -> int:
        """Bits of the stored fraction."""
        return self.significand_width - 1

    @property
    def bias(self) -> int:
        """Exponent bias: stored exponent minus true exponent."""
        return (1 << (self.exponent_width - 1)) - 1

    @property
    def least_exponent(self) -> int:
        """True exponent of the smallest number above zero: half the step to the next but one."""
        return (1 if self.subnormals else 0) - self.bias - self.fraction_width

    @property
    def largest_exponent(self) -> int:
        """True exponent of the largest finite number."""
        return (self.largest >> self.fraction_width) - self.bias

    @property
    def fraction_mask(self) -> int:
        """Mask of the stored fraction, the low end of a stored value."""
        return (1 << self.fraction_width) - 1

    @property
    def exponent_mask(self) -> int:
        """Largest exponent code."""
        return (1 << self.exponent_width) - 1

    @property
    def magnitude_mask(self) -> int:
        """Mask of all bits but the sign."""
        return (1 << self.magnitude_width) - 1

    @property
    def has_infinity(self) -> bool:
        """Whether the format has infinities."""
        return self.specials == IEEE

    @property
    def has_nan(self) -> bool:
        """Whether the format has a NaN."""
        return self.specials != NONE

    @property
    def largest(self) -> int:
        """Stored bits of the largest finite number."""
        return {
            IEEE: (self.exponent_mask << self.fraction_width) - 1,
            NAN: self.magnitude_mask - 1,
            NONE: self.magnitude_mask,
        }[self.specials]

    @property
    def infinity(self) -> int:
        """Stored bits of positive infinity."""
        if not self.has_infinity:
            raise ValueError(f"{self.name} has no infinity")
        return self.exponent_mask << self.fraction_width

    @property
    def nan(self) -> int:
        """Stored bits of the canonical quiet NaN, the only NaN ever produced."""
        if not self.has_nan:
            raise ValueError(f"{self.name} has no NaN")
        if self.specials == NAN:
            return self.magnitude_mask
        return self.infinity | 1 << (self.fraction_width - 1)

    @property
    def overflow(self) -> int:
        """Stored magnitude of an overflow without saturation.

        Infinity; else NaN (as the OCP 8-bit formats specify); else the largest number.
        """
        if self.has_infinity:
            return self.infinity
        return self.nan if self.has_nan else self.largest


@dataclass(frozen=True, kw_only=True)
class IntFormat:
    """A two's complement integer format of `width` bits."""

    name: str
    width: int


def _float(name: str, exponent_width: int, fraction_width: int, specials: str = IEEE, **options):
    return FloatFormat(
        name=name,
        exponent_width=exponent_width,
        significand_width=fraction_width + 1,
        specials=specials,
        **options,
    )


FP32 = _float("fp32", 8, 23)
FP16 = _float("fp16", 5, 10)
BF16 = _float("bf16", 8, 7)
# 19 bits: the upper bits of an FP32 word, whose lower 13 are ignored.
TF32 = _float("tf32", 8, 10)
# OCP 8-bit Floating Point Specification 1.0.
FP8_E5M2 = _float("fp8_e5m2", 5, 2)
FP8_E4M3 = _float("fp8_e4m3", 4, 3, NAN)
# OCP Microscaling Formats Specification 1.0.
FP6_E3M2 = _float("fp6_e3m2", 3, 2, NONE)
FP6_E2M3 = _float("fp6_e2m3", 2, 3, NONE)
FP4_E2M1 = _float("fp4_e2m1", 2, 1, NONE)
E8M0 = _float("e8m0", 8, 0, NAN, signed=False, subnormals=False)
# Scale of NVFP4 blocks: 7 bits; the container's top bit is ignored.
UE4M3 = _float("ue4m3", 4, 3, NAN, signed=False)
INT4 = IntFormat(name="int4", width=4)
INT8 = IntFormat(name="int8", width=8)
INT32 = IntFormat(name="int32", width=32)

FORMATS: dict[str, FloatFormat | IntFormat] = {
    form.name: form
    for form in (
        *(FP32, FP16, BF16, TF32, FP8_E5M2, FP8_E4M3, FP6_E3M2, FP6_E2M3, FP4_E2M1),
        *(E8M0, UE4M3, INT4, INT8, INT32),
    )
}
