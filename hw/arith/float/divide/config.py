"""Config and layouts of the float datapath for division and square root."""

from dataclasses import dataclass

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from ....config.checks import require_integer
from ....config.formats import FP32, FloatFormat
from ..rounding import FLAGS_LAYOUT, Rounding
from .digit_recurrence import DigitRecurrenceConfig

__all__ = ["DivideSqrtConfig", "DivideSqrtOperation"]


class DivideSqrtOperation(enum.Enum, shape=1):
    """Operation of the datapath: ``a / b``, or the square root of ``a``."""

    DIVIDE = 0
    SQUARE_ROOT = 1


@dataclass(frozen=True, kw_only=True)
class DivideSqrtConfig:
    """Datapath for division and square root: `first_state`, `next_state`, `finished`.

    Parameters
    ----------
    form : FloatFormat
        Format of operands and results: an IEEE one, with sign, infinities and subnormals.
    digits : int
        Bits of the result found per cycle, 1 to 4: area against time. For FP32, 4 has the
        best product of both.

    """

    form: FloatFormat = FP32
    digits: int = 4

    def __post_init__(self):
        form = self.form
        if not (form.has_infinity and form.signed and form.subnormals):
            raise ValueError(
                f"form must have a sign, infinities and subnormals, as IEEE's have, not {form.name}"
            )
        require_integer("significand_width", form.significand_width, 3, 24)
        require_integer("exponent_width", form.exponent_width, 3, 8)
        self.recurrence  # noqa: B018  # checks `digits`

    @property
    def recurrence(self) -> DigitRecurrenceConfig:
        """Config of the datapath that finds digits."""
        return DigitRecurrenceConfig(
            significand_width=self.form.significand_width, digits=self.digits
        )

    @property
    def exponent_width(self) -> int:
        """Bits of a signed exponent that covers every quotient and every operand."""
        # The extremes are smallest / largest number and its reciprocal.
        extent = self.form.largest_exponent - self.form.least_exponent + self.form.bias + 2
        return ceil_log2(extent) + 1

    @property
    def operation_layout(self) -> data.StructLayout:
        """Shape of an operation; `b` is ignored for a square root."""
        return data.StructLayout({
            "operation": DivideSqrtOperation,
            "rounding": Rounding,
            "a": self.form.width,
            "b": self.form.width,
        })

    @property
    def result_layout(self) -> data.StructLayout:
        """Shape of a result."""
        return data.StructLayout({"result": self.form.width, "flags": FLAGS_LAYOUT})
