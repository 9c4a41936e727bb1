"""State set by command words for the LOOP_WS that uses it."""

from amaranth.lib import data

from ...isa.commands import loop_control, loop_parts

__all__ = ["ROW_WIDTH", "command_state"]

#: Bits of the operands of ACCUMULATOR.
ROW_WIDTH = 20

#: Bounds in blocks and their pads in elements, addresses and strides in DRAM (elements), lines
#: in shared memory, the settings of CONFIG and ACCUMULATOR, and the operands of the LOOP_WS itself.
command_state = data.StructLayout({
    "size_i": 16,
    "size_j": 16,
    "size_k": 16,
    "pad_i": 16,
    "pad_j": 16,
    "pad_k": 16,
    "a_address": 32,
    "b_address": 32,
    "c_address": 32,
    "a_stride": 30,
    "b_stride": 30,
    "c_stride": 30,
    "a_line": 32,
    "b_end": 32,
    "has_d": 1,
    "d_address": 32,
    "d_stride": 30,
    "relu": 1,
    "scale": 32,
    "transpose_a": 1,
    "transpose_b": 1,
    "base": ROW_WIDTH,
    "scales_line": ROW_WIDTH,
    "control": loop_control,
    "parts": loop_parts,
})
