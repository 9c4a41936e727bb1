"""Sign injection, as RISC-V's ``fsgnj``, ``fsgnjn`` and ``fsgnjx``."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out

from ...config.formats import FP32, FloatFormat
from ...emit.shared_block import SharedBlock

__all__ = ["SignInject", "SignInjectConfig", "SignOperation"]


class SignOperation(enum.IntEnum, shape=2):
    """Source of the sign; the codes are those of RISC-V's field ``rm``."""

    COPY = 0
    NEGATE = 1
    EXCLUSIVE_OR = 2


@dataclass(frozen=True, kw_only=True)
class SignInjectConfig:
    """Format of operands and result."""

    form: FloatFormat = FP32

    def __post_init__(self):
        if not self.form.signed:
            raise ValueError(f"form must have a sign, not {self.form.name}")


class SignInject(SharedBlock):
    """Sign injection: ``o`` is ``a`` with the sign of ``b``, its inverse, or both signs XORed.

    Combinational. NaN is handled like any other value; there are no exceptions.

    Parameters
    ----------
    config : SignInjectConfig

    Members
    -------
    operation : In(SignOperation)
    a, b : In(config.form.width)
    o : Out(config.form.width)

    """

    operation: Signal
    a: Signal
    b: Signal
    o: Signal

    def __init__(self, config: SignInjectConfig):
        self.config = config
        width = config.form.width
        super().__init__({
            "operation": In(SignOperation),
            "a": In(width),
            "b": In(width),
            "o": Out(width),
        })

    def build(self, platform):
        m = Module()
        turn = Mux(
            self.operation == SignOperation.EXCLUSIVE_OR,
            self.a[-1],
            self.operation == SignOperation.NEGATE,
        )
        m.d.comb += self.o.eq(Cat(self.a[:-1], self.b[-1] ^ turn))
        return m
