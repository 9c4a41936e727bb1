"""Common config and ports of units with two stored floats as operands."""

from dataclasses import dataclass
from typing import ClassVar

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...config.formats import FP32, FloatFormat
from ...emit.shared_block import SharedBlock

__all__ = ["TwoOperandConfig", "TwoOperandUnit"]


@dataclass(frozen=True, kw_only=True)
class TwoOperandConfig:
    """A unit with two operands.

    Parameters
    ----------
    form : FloatFormat
        Format of operands and result, with infinities and subnormals.
    latency : int
        Cycles from the operands to the result, 1 to `latencies`.

    """

    form: FloatFormat = FP32
    latency: int = 2

    #: Largest latency of the unit.
    latencies: ClassVar[int] = 4

    def __post_init__(self):
        require_integer("latency", self.latency, 1, self.latencies)
        if not (self.form.has_infinity and self.form.signed and self.form.subnormals):
            raise ValueError(
                f"form must have signs, infinities and subnormals, unlike {self.form.name}"
            )


class TwoOperandUnit(SharedBlock):
    """Base of units with two operands: rounded to nearest even, NaN results canonical.

    Latency `config.latency`, one result per cycle, no handshake.

    Parameters
    ----------
    config : TwoOperandConfig

    Members
    -------
    a, b : In(config.form.width)
    o : Out(config.form.width)

    """

    def __init__(self, config: TwoOperandConfig):
        self.config = config
        width = config.form.width
        super().__init__({"a": In(width), "b": In(width), "o": Out(width)})
