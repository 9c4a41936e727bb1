"""One executed instruction as C++ tells it, as a record."""

import numpy as np

from ...hw.isa.encoding import RegisterFile
from .native_types import NativeRetired
from .outcome import Access, Fault, Retired

__all__ = ["retired_of"]

#: Rows of registers: integers, floats, and one that stands for none.
FLOAT_ROW, DROPPED_ROW = 32, 64
#: Where in the record's words the lanes' arrays begin.
VALUES, ADDRESSES, DATA = (
    getattr(NativeRetired, name).offset // 4 for name in ("values", "addresses", "data")
)


def register_of(row: int) -> tuple[RegisterFile, int] | None:
    """Return the register of a row."""
    if row == DROPPED_ROW:
        return None
    file = RegisterFile.FLOAT if row >= FLOAT_ROW else RegisterFile.INTEGER
    return file, row % FLOAT_ROW


def retired_of(native: NativeRetired, threads: int, fault: Fault | None) -> Retired:
    """Return the record of an instruction."""
    # One copy, and views of it: this is called for every step.
    words = np.frombuffer(bytes(native), np.uint32)
    core, warp, pc, word, mask, row, _ = words[:VALUES].tolist()
    access = None
    if native.size and fault is None:
        access = Access(
            is_store=bool(native.is_store),
            size=native.size,
            addresses=words[ADDRESSES : ADDRESSES + threads],
            data=words[DATA : DATA + threads],
        )
    return Retired(
        core=core,
        warp=warp,
        pc=pc,
        word=word,
        mask=mask,
        rd=None if fault else register_of(row),
        values=words[VALUES : VALUES + threads],
        fault=fault,
        access=access,
    )
