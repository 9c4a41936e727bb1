"""Signatures between the blocks of the tensor unit with fragments in registers."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config.formats import FORMATS
from .config import RegisterFedConfig
from .layouts import row_shape

__all__ = [
    "DotOperandsSignature",
    "FragmentsSignature",
    "RegisterPartSignature",
    "RegisterStartSignature",
]


class FragmentsSignature(wiring.Signature):
    """Registers of A and B with the words of a step's set, of all lanes.

    Members
    -------
    a, b : Out(ArrayLayout(row_shape(threads), step_registers))
    """

    def __init__(self, config: RegisterFedConfig):
        a, b = (data.ArrayLayout(row_shape(config.threads), n) for n in config.step_registers)
        super().__init__({"a": Out(a), "b": Out(b)})


class DotOperandsSignature(wiring.Signature):
    """Operands of the dot products of a step.

    Members
    -------
    rows, columns : Out(ArrayLayout(ArrayLayout(width, terms), dot_products))
    """

    def __init__(self, config: RegisterFedConfig):
        operand = data.ArrayLayout(FORMATS[config.operand].width, config.terms)
        operands = data.ArrayLayout(operand, config.dot_products)
        super().__init__({"rows": Out(operands), "columns": Out(operands)})


class RegisterStartSignature(wiring.Signature):
    """Start of the registers of a product that leave the unit.

    Members
    -------
    begin : Out(1)
        A product begins; its registers are started from this cycle on.
    start : Out(1)
        A register is started; only if there is `room` for another one.
    room : In(1)
    """

    def __init__(self):
        super().__init__({"begin": Out(1), "start": Out(1), "room": In(1)})


class RegisterPartSignature(wiring.Signature):
    """Part of a register of C.

    Members
    -------
    part : Out(threads)
        Lanes of the current register that arrive in this cycle, 0 for none.
    finish : Out(1)
        This part is the register's last.
    values : Out(row_shape(threads))
    """

    def __init__(self, threads: int):
        super().__init__({
            "part": Out(threads),
            "finish": Out(1),
            "values": Out(row_shape(threads)),
        })
