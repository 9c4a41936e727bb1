"""Rounding modes and exception flags, in the encodings of RISC-V's ``frm`` and ``fflags``."""

from amaranth.lib import data, enum

__all__ = ["DYNAMIC", "FLAGS", "FLAGS_LAYOUT", "Rounding"]


class Rounding(enum.IntEnum, shape=3):
    """Rounding modes; 5 and 6 are reserved, 7 is `DYNAMIC`."""

    NEAREST_EVEN = 0
    TOWARD_ZERO = 1
    DOWN = 2
    UP = 3
    NEAREST_AWAY = 4


#: In an instruction: selects the mode in ``frm``.
DYNAMIC = 7

#: Exceptions of one operation. Tininess is detected after rounding.
FLAGS_LAYOUT = data.StructLayout({
    "inexact": 1,
    "underflow": 1,
    "overflow": 1,
    "divide_by_zero": 1,
    "invalid": 1,
})

#: The bit of each flag in ``fflags``.
FLAGS = {name: 1 << field.offset for name, field in FLAGS_LAYOUT}
