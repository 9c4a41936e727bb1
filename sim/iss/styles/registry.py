"""Table of each style in the C++ of the instruction-set model, by the class of its config."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....hw.config import TensorUnitConfig
from ....hw.styles.register_fed.config import RegisterFedConfig
from ....hw.styles.shared_fed.config import (
    READ_BYTES,
    SWIZZLE_ROW_BYTES,
    SWIZZLE_UNIT_BYTES,
    SharedFedConfig,
)

__all__ = ["STYLES", "NativeStyle", "unit_bit"]


@dataclass(frozen=True, kw_only=True)
class NativeStyle:
    """A style in the C++ of the model.

    The effects of its instructions are in ``native/instructions/styles``, with a case in
    ``native/instructions/execute.hpp`` each.

    Parameters
    ----------
    fields : callable
        ``fields(unit)``: further fields of a machine's structure ``Config``, such as
        ``unit_words``, the words that the unit keeps for each warp.
    constants : mapping of str to int
        Constants of the generated header.

    """

    fields: Callable[[Any], dict[str, int]] = lambda unit: {}
    constants: Mapping[str, int] = field(default_factory=dict)


def layout_fields(unit: SharedFedConfig) -> dict[str, int]:
    """Return the layout of operands in shared memory."""
    return {
        "a_row_bytes": unit.a_row_bytes,
        "b_row_bytes": unit.b_row_bytes,
        "is_swizzled": unit.is_swizzled,
    }


STYLES: dict[type[TensorUnitConfig], NativeStyle] = {
    RegisterFedConfig: NativeStyle(),
    SharedFedConfig: NativeStyle(
        fields=layout_fields,
        constants={
            "READ_BYTES": READ_BYTES,
            "SWIZZLE_ROW_BYTES": SWIZZLE_ROW_BYTES,
            "SWIZZLE_UNIT_BYTES": SWIZZLE_UNIT_BYTES,
        },
    ),
}


def unit_bit(kind: type[TensorUnitConfig]) -> int:
    """Return the bit of a kind of unit in the patterns of the instructions that it executes."""
    return 1 << list(STYLES).index(kind)
