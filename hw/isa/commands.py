"""Command words of the matrix unit: one definition for the RTL, drivers and golden models."""

import enum
from dataclasses import dataclass

from amaranth.lib.data import Field, FlexibleLayout, StructLayout

__all__ = [
    "CISC_MAPS",
    "FLOAT_ONE",
    "ROCC_OPCODE",
    "CiscCommand",
    "CiscKind",
    "ConfigKind",
    "Function",
    "bounds_pads",
    "bounds_sizes",
    "cisc_strides",
    "cisc_word",
    "config_execute",
    "config_store",
    "config_store_scale",
    "encode",
    "encode_cisc",
    "loop_control",
    "loop_parts",
    "rocc_layout",
    "rocc_word",
]


class Function(enum.IntEnum):
    """Function of a RoCC instruction word, its bits 31:25."""

    CONFIG = 0  #: activation, scale, transposes; rs1[1:0] is a `ConfigKind`
    FLUSH = 7  #: accepted without effect: there is no address translation
    LOOP_WS = 8  #: the whole tile: rs1 = `loop_control`, rs2 = `loop_parts`
    BOUNDS = 9  #: rs1 = `bounds_pads`, rs2 = `bounds_sizes`
    ADDRESSES_AB = 10  #: rs1, rs2 = DRAM byte addresses of A and B
    ADDRESSES_DC = 11  #: rs1, rs2 = byte addresses of D, in DRAM or shared memory, and C, in DRAM
    STRIDES_AB = 12  #: rs1, rs2 = elements between rows of A and of B in DRAM
    STRIDES_DC = 13  #: rs1, rs2 = elements between rows of D and of C
    SPAD_AB = 24  #: rs1 = first row of A, rs2 = row after the last of B, in shared memory
    ACCUMULATOR = 26  #: rs1 = first accumulator row of C, rs2 = row of shared memory with scales


class ConfigKind(enum.IntEnum):
    """Part of the unit that a CONFIG word sets."""

    EXECUTE = 0  #: rs1 = `config_execute`; rs2 is ignored
    LOAD = 1  #: accepted without effect: loads are unscaled rows of the tile
    STORE = 2  #: rs1 = `config_store`, rs2 = `config_store_scale`
    NORM = 3  #: refused


#: The constant 1 in FP32, the scale after reset.
FLOAT_ONE = 0x3F80_0000

ROCC_OPCODE = 0x7B
ROCC_OPERANDS = 3 << 12 | 1 << 15 | 2 << 20  # both operands used, named x1 and x2


def rocc_word(function: int) -> int:
    """Return the RoCC instruction word of `function`."""
    return function << 25 | ROCC_OPERANDS | ROCC_OPCODE


rocc_layout = FlexibleLayout(32, {"opcode": Field(7, 0), "function": Field(7, 25)})

bounds_pads = FlexibleLayout(64, {"i": Field(16, 0), "j": Field(16, 16), "k": Field(16, 32)})
bounds_sizes = FlexibleLayout(64, {"i": Field(16, 0), "j": Field(16, 16), "k": Field(16, 32)})

#: rs1 of LOOP_WS. `full_c` stores C in the accumulator's format; `low_d` concerns only D.
#: `scale_rows` multiplies each row of the accumulator by its scale before the sums are added.
loop_control = FlexibleLayout(
    64,
    {
        "accumulate": Field(1, 0),
        "full_c": Field(1, 1),
        "low_d": Field(1, 2),
        "scale_rows": Field(1, 3),
        "activation": Field(8, 8),
        "spads": Field(4, 16),
    },
)

#: rs2 of LOOP_WS. `shared_only` sends C to shared memory, at row `c_row`, instead of DRAM.
loop_parts = FlexibleLayout(
    64,
    {
        "transpose_a": Field(1, 0),
        "transpose_b": Field(1, 1),
        "residual_add": Field(1, 2),
        "skip_load_a": Field(1, 3),
        "skip_load_b": Field(1, 4),
        "skip_load_d": Field(1, 5),
        "skip_compute": Field(1, 6),
        "skip_store": Field(1, 7),
        "next_accumulator": Field(1, 8),
        "shared_only": Field(1, 9),
        "c_row": Field(32, 32),
    },
)

#: rs1 of CONFIG for the array. The activation is ignored here; that of the store applies.
config_execute = FlexibleLayout(
    64,
    {
        "kind": Field(2, 0),
        "weight_stationary": Field(1, 2),
        "activation": Field(2, 3),
        "strides_only": Field(1, 7),
        "transpose_a": Field(1, 8),
        "transpose_b": Field(1, 9),
    },
)

#: rs1 and rs2 of CONFIG for the drain of the accumulator.
config_store = FlexibleLayout(
    64, {"kind": Field(2, 0), "activation": Field(2, 2), "pooling": Field(2, 4)}
)
config_store_scale = FlexibleLayout(64, {"stride": Field(32, 0), "scale": Field(32, 32)})

#: The CISC command word, and the stride commands' layout of its upper bits.
cisc_word = StructLayout({"operation": 5, "unit": 2, "square": 1, "a": 8, "b": 8, "c": 8})
cisc_strides = FlexibleLayout(32, {"first": Field(12, 8), "second": Field(12, 20)})


class CiscKind(enum.IntEnum):
    """Expansion of a CISC command word."""

    LOOP = 0  #: BOUNDS of the tile, SPAD_AB if there are operands, LOOP_WS
    STRIDES_AB = 1
    STRIDES_DC = 2
    CONFIG = 3  #: resets activation, scale, transposes and the first accumulator row


@dataclass(frozen=True, kw_only=True)
class CiscCommand:
    """One operation of a CISC map.

    Parameters
    ----------
    name : str
    kind : CiscKind
    parts : int
        Low half of rs2 of its LOOP_WS.
    accumulate : int or None
        Accumulate bit of its LOOP_WS; None takes bit 0 of byte `c`.
    quarters : tuple of int or None
        Start of A and end of B in quarters of shared memory. None: bytes `a` and `b` give them
        in sixteenths, and B ends after the sixteenth given.
    c_byte : str or None
        Byte with the sixteenth of shared memory that receives C.
    operands : bool
        Whether A and B are used, so that SPAD_AB is set.

    """

    name: str
    kind: CiscKind = CiscKind.LOOP
    parts: int = 0
    accumulate: int | None = 0
    quarters: tuple[int, int] | None = None
    c_byte: str | None = None
    operands: bool = False


COMPUTE, COMPUTE_SPILL, SPILL, LOAD, STORE, NOTHING = 0x2B8, 0x238, 0x278, 0x2E0, 0x78, 0x2F8

STRIDES_AB = CiscCommand(name="strides_ab", kind=CiscKind.STRIDES_AB)
SPILL_COMMAND = CiscCommand(name="spill", parts=SPILL, c_byte="a")


def compute_quarters(name, quarters, accumulate):
    """Return a compute command of the legacy map."""
    return CiscCommand(
        name=name, parts=COMPUTE, accumulate=accumulate, quarters=quarters, operands=True
    )


def load_quarters(name, quarters):
    """Return a load command of the legacy map."""
    return CiscCommand(name=name, parts=LOAD, accumulate=1, quarters=quarters, operands=True)


#: Operation codes of the two maps of CISC command words.
CISC_MAPS: dict[str, dict[int, CiscCommand]] = {
    "current": {
        0: CiscCommand(name="compute", parts=COMPUTE, accumulate=None, operands=True),
        1: CiscCommand(name="compute_spill", parts=COMPUTE_SPILL, c_byte="c", operands=True),
        2: CiscCommand(name="nothing", parts=NOTHING),
        8: STRIDES_AB,
        9: SPILL_COMMAND,
        10: CiscCommand(name="load", parts=LOAD, accumulate=1, operands=True),
        11: CiscCommand(name="strides_dc", kind=CiscKind.STRIDES_DC),
        12: CiscCommand(name="store", parts=STORE),
        16: CiscCommand(name="config", kind=CiscKind.CONFIG),
    },
    "legacy": {
        0: compute_quarters("compute_first", (0, 3), 0),
        1: compute_quarters("compute_first_accumulate", (0, 3), 1),
        2: compute_quarters("compute_second_accumulate", (1, 4), 1),
        3: compute_quarters("compute_second", (1, 4), 0),
        8: STRIDES_AB,
        9: SPILL_COMMAND,
        10: load_quarters("load_first", (0, 3)),
        11: load_quarters("load_second", (1, 4)),
        12: load_quarters("load_low", (0, 1)),
        13: load_quarters("load_high", (2, 3)),
    },
}


def encode(layout, **fields: int) -> int:
    """Return `fields` packed into `layout`; fields not given are 0."""
    word = 0
    for name, value in fields.items():
        field = layout[name]
        if value >> field.width:
            raise ValueError(f"{name} must fit {field.width} bits, not {value!r}")
        word |= value << field.offset
    return word


def encode_cisc(cisc_map: str, name: str, *, unit: int = 0, square: int = 0, **fields: int) -> int:
    """Return the CISC word of the operation `name`, with bytes `a`, `b`, `c` or two strides."""
    codes = {command.name: code for code, command in CISC_MAPS[cisc_map].items()}
    if name not in codes:
        raise ValueError(f"name must be one of {', '.join(codes)}, not {name!r}")
    command = CISC_MAPS[cisc_map][codes[name]]
    strides = command.kind in (CiscKind.STRIDES_AB, CiscKind.STRIDES_DC)
    word = encode(cisc_word, operation=codes[name], unit=unit, square=square)
    return word | encode(cisc_strides if strides else cisc_word, **fields)
