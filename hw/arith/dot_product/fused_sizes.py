"""Widths of a fused sum's datapath, derived from its config."""

from dataclasses import dataclass

from amaranth import signed, unsigned
from amaranth.hdl import Shape
from amaranth.utils import ceil_log2

from ...config.formats import FloatFormat
from .config import DotProductConfig

__all__ = ["FusedSizes"]


@dataclass(frozen=True, kw_only=True)
class FusedSizes:
    """Widths and offsets of one fused sum.

    Terms are products, or in grouped kinds the exact sums of groups times their scales. A term has
    a sign, a significand and an exponent code: the sum of its factors' stored exponents, 0 for a
    zero term. All exponents are compared as such codes. If one pair of scales belongs to the whole
    sum, its exponents are not part of the codes; the addend's exponent is then relative to them.

    Parameters
    ----------
    dot : DotProductConfig
        A dot product of one fused sum.

    """

    dot: DotProductConfig

    @property
    def cuts(self) -> tuple[str, ...]:
        """Stages with an output register, besides the last.

        With few terms, the largest exponent and each term's distance to it fit one cycle. The
        comparison tree is deeper for more and wider exponents.
        """
        levels = ceil_log2(self.terms)
        if self.terms <= 16 and levels * self.exponent_width <= 27:
            return ("places", "magnitude")
        return ("products", "carry_save", "magnitude")

    @property
    def latency(self) -> int:
        """Cycles from the operands to the result."""
        return len(self.cuts) + 1 + self.is_grouped

    @property
    def is_grouped(self) -> bool:
        """Whether a term is the sum of a group of products."""
        return self.dot.fused.group > 1

    @property
    def is_relative(self) -> bool:
        """Whether exponents are relative to those of a pair of scales."""
        return self.dot.scale is not None and not self.is_grouped

    @property
    def terms(self) -> int:
        """Number of terms besides the addend."""
        return self.dot.terms // self.dot.fused.group

    @property
    def factors(self) -> tuple[FloatFormat, FloatFormat]:
        """Formats that contribute a term's exponent: the factors', or the scales'."""
        if self.is_grouped:
            assert self.dot.scale_format is not None
            return self.dot.scale_format, self.dot.scale_format
        return self.dot.a_format, self.dot.b_format

    @property
    def group_fraction_width(self) -> int:
        """Fraction bits of a group's sum."""
        a, b = self.dot.a_format, self.dot.b_format
        return a.bias + b.bias - 2 + a.fraction_width + b.fraction_width

    @property
    def group_width(self) -> int:
        """Bits of the magnitude of a group's sum."""
        largest = self.dot.fused.group
        for form in (self.dot.a_format, self.dot.b_format):
            stored = form.largest
            significand = (1 << form.fraction_width) | (stored & form.fraction_mask)
            largest *= significand << ((stored >> form.fraction_width) - 1)
        return largest.bit_length()

    @property
    def significand_width(self) -> int:
        """Bits of a term's significand."""
        width = sum(form.significand_width for form in self.factors)
        # A one-bit significand is a factor of 1.
        if self.is_grouped:
            return self.group_width + (width if width > 2 else 0)
        return width

    @property
    def fraction_width(self) -> int:
        """Fraction bits of a term's significand."""
        width = sum(form.fraction_width for form in self.factors)
        return width + self.group_fraction_width if self.is_grouped else width

    @property
    def exponent_width(self) -> int:
        """Bits of a term's exponent code."""
        return sum(form.exponent_mask for form in self.factors).bit_length()

    @property
    def offset(self) -> int:
        """Exponent code minus true exponent."""
        return sum(form.bias for form in self.factors)

    @property
    def least_code(self) -> int:
        """Smallest exponent code of a nonzero term."""
        return sum(int(form.subnormals) for form in self.factors)

    @property
    def largest_code(self) -> int:
        """Largest exponent code of a finite term."""
        return sum(form.largest_exponent + form.bias for form in self.factors)

    @property
    def scale_bias(self) -> int:
        """Sum of the codes of a pair of scales, minus their true exponent."""
        assert self.dot.scale_format is not None
        return 2 * self.dot.scale_format.bias

    @property
    def scale_range(self) -> tuple[int, int]:
        """Smallest and largest true exponent of a pair of scales that exponents are relative to."""
        if not self.is_relative:
            return 0, 0
        assert self.dot.scale_format is not None
        return -self.scale_bias, 2 * self.dot.scale_format.largest_exponent

    @property
    def addend_offset(self) -> int:
        """The addend's exponent code minus its stored exponent, without scales."""
        return self.offset - self.dot.addend_format.bias

    @property
    def floor(self) -> int:
        """Smallest exponent that terms are aligned to, unless all are zero.

        The configured one, or a higher one if no term can be below it.
        """
        least_term = self.least_code - self.offset + self.scale_range[0]
        least_addend = 1 - self.dot.addend_format.bias
        return max(self.dot.alignment_floor, min(least_term, least_addend))

    @property
    def code_shape(self) -> Shape:
        """Shape of any exponent code, including those of the addend and of the floor."""
        least, largest = self.scale_range
        addend = self.dot.addend_format
        low = self.offset + min(self.floor, 1 - addend.bias) - largest
        high = max(self.largest_code, addend.exponent_mask + self.addend_offset - least)
        width = max((high + 1).bit_length(), (-low).bit_length())
        return signed(width + 1) if low < 0 else unsigned(high.bit_length())

    @property
    def term_width(self) -> int:
        """Bits of an aligned term: the integer bits and the fraction bits kept."""
        return self.significand_width - self.fraction_width + self.dot.fused.fraction_width

    @property
    def total_width(self) -> int:
        """Bits of the sum of all terms and the addend, with its sign."""
        return 1 + self.term_width + ceil_log2(self.terms + 1)

    @property
    def magnitude_width(self) -> int:
        """Bits of the sum's magnitude, extended by zeros at the top if the result can be subnormal.

        A magnitude is normalised by a left shift, down to the result's smallest exponent; its top
        bit must be able to represent that exponent.
        """
        bias = self.dot.result_format.bias
        return max(self.total_width - 1, 2 - bias + self.dot.fused.fraction_width - self.floor)

    @property
    def room_offset(self) -> int:
        """Room minus the code of the largest exponent, without scales.

        The room is the left shift that a magnitude allows before it is subnormal: the stored
        exponent of a result that needs no shift, minus 1.
        """
        point = self.dot.fused.fraction_width - (self.magnitude_width - 1)
        return self.dot.result_format.bias - self.offset - point - 1

    @property
    def room_width(self) -> int:
        """Bits of the room."""
        _, largest = self.scale_range
        addend = self.dot.addend_format
        exponent = max(
            self.largest_code - self.offset + largest, addend.exponent_mask - addend.bias
        )
        return (exponent + self.offset + self.room_offset).bit_length()
