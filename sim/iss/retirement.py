"""Conversion of a retired instruction from its C++ structure to a `Retired` record."""

from typing import Any

import numpy as np

from ...base.native_interface import NativeStructure
from ...hw.isa.encoding import RegisterClass
from .native_types import ISS
from .outcome import Access, Fault, Retired

__all__ = ["retired_of"]


def register_of(row: int) -> tuple[RegisterClass, int] | None:
    """Return the register of a row, None if the result is dropped."""
    if row == ISS.constant("kDroppedRow"):
        return None
    first = ISS.constant("kFloatRow")
    return RegisterClass.FLOAT if row >= first else RegisterClass.INTEGER, row % first


def retired_of(native: NativeStructure, threads: int, fault: Fault | None) -> Retired:
    """Return the record of an instruction, with views of a `Retired` of the C++."""

    def words(lanes: Any) -> np.ndarray:
        return np.frombuffer(lanes, np.uint32)

    access = None
    if native.access.size and fault is None:
        access = Access(
            is_store=bool(native.access.is_store),
            size=native.access.size,
            addresses=words(native.access.addresses)[:threads],
            data=words(native.access.data)[:threads],
        )
    earlier = words(native.earlier).reshape(len(native.earlier), -1)
    return Retired(
        core=native.core,
        warp=native.warp,
        pc=native.pc,
        word=native.word,
        mask=native.mask,
        rd=None if fault else register_of(native.row),
        values=words(native.values)[:threads],
        earlier=earlier[: native.results - 1, :threads],
        fault=fault,
        access=access,
    )
