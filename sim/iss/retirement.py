"""One executed instruction as C++ tells it, as a record."""

import numpy as np

from ...hw.isa.encoding import RegisterFile
from .native_types import NativeRetired
from .outcome import Access, Fault, Retired

__all__ = ["retired_of"]

#: Rows of registers: integers, floats, and one that stands for none.
FLOAT_ROW, DROPPED_ROW = 32, 64


def register_of(row: int) -> tuple[RegisterFile, int] | None:
    """Return the register of a row."""
    if row == DROPPED_ROW:
        return None
    file = RegisterFile.FLOAT if row >= FLOAT_ROW else RegisterFile.INTEGER
    return file, row % FLOAT_ROW


def retired_of(native: NativeRetired, threads: int, fault: Fault | None) -> Retired:
    """Return the record of an instruction."""

    def lanes(values) -> np.ndarray:
        return np.array(values[:threads], np.uint32)

    access = None
    if native.size and fault is None:
        access = Access(
            is_store=bool(native.is_store),
            size=native.size,
            addresses=lanes(native.addresses),
            data=lanes(native.data),
        )
    return Retired(
        core=native.core,
        warp=native.warp,
        pc=native.pc,
        word=native.word,
        mask=native.mask,
        rd=None if fault else register_of(native.row),
        values=lanes(native.values),
        fault=fault,
        access=access,
    )
