"""Conversion of a retired instruction from its C++ structure to a `Retired` record."""

import numpy as np

from ...hw.isa.encoding import RegisterClass
from .native_types import MAX_THREADS, NativeRetired
from .outcome import Access, Fault, Retired

__all__ = ["retired_of"]

#: First row of the float registers, and the row that represents no register.
FLOAT_ROW, DROPPED_ROW = 32, 64
#: Word offsets of the per-lane arrays in the structure.
VALUES, ADDRESSES, DATA, EARLIER = (
    getattr(NativeRetired, name).offset // 4 for name in ("values", "addresses", "data", "earlier")
)


def register_of(row: int) -> tuple[RegisterClass, int] | None:
    """Return the register of a row, None if the result is dropped."""
    if row == DROPPED_ROW:
        return None
    file = RegisterClass.FLOAT if row >= FLOAT_ROW else RegisterClass.INTEGER
    return file, row % FLOAT_ROW


def retired_of(native: NativeRetired, threads: int, fault: Fault | None) -> Retired:
    """Return the record of an instruction."""
    # One copy and views of it, since this is called for every step.
    words = np.frombuffer(bytes(native), np.uint32)
    core, warp, pc, word, mask, row, _, results = words[:VALUES].tolist()
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
        earlier=words[EARLIER:].reshape(-1, MAX_THREADS)[: results - 1, :threads],
        fault=fault,
        access=access,
    )
