"""Gemmini's RoCC instructions for a host: loop commands over tiles in shared memory."""

import numpy as np

from ..hw.isa.commands import (
    COMPUTE,
    FLOAT_ONE,
    STORE,
    ConfigKind,
    Function,
    bounds_pads,
    bounds_sizes,
    config_store,
    config_store_scale,
    encode,
    loop_control,
    rocc_word,
)
from .commands import Host

__all__ = ["Rocc"]


class Rocc:
    """Composer of loop commands; sends configuration only when it changes.

    Parameters
    ----------
    host : Host
        Driver of the matrix unit.

    """

    def __init__(self, host: Host):
        self.host = host
        self.configured: dict[int, tuple[int, int]] = {}

    def keep(self, function: Function, rs1: int, rs2: int):
        """Send a configuration that stays until the next one."""
        if self.configured.get(function) != (rs1, rs2):
            self.host.instruction(rocc_word(function), rs1, rs2)
            self.configured[function] = (rs1, rs2)

    def bounds(self, blocks: tuple[int, int, int], pads: tuple[int, int, int]):
        """Set the tile's blocks along I, J, K and the padding of the last block of each."""
        rs1 = encode(bounds_pads, i=pads[0], j=pads[1], k=pads[2])
        rs2 = encode(bounds_sizes, i=blocks[0], j=blocks[1], k=blocks[2])
        self.keep(Function.BOUNDS, rs1, rs2)

    def operands_at(self, a_row: int, b_end_row: int):
        """Set the start of A and the end of B, in rows of shared memory."""
        self.keep(Function.SPAD_AB, a_row, b_end_row)

    def result_at(self, address: int):
        """Set the DRAM address of C."""
        self.keep(Function.ADDRESSES_DC, 0, address)

    def result_pitch(self, elements: int):
        """Set the pitch of C in elements."""
        self.keep(Function.STRIDES_DC, 0, elements)

    def result_scale(self, scale: float | None):
        """Set the scale factor of every result."""
        bits = FLOAT_ONE if scale is None else int(np.float32(scale).view(np.uint32))
        rs1 = encode(config_store, kind=ConfigKind.STORE)
        self.keep(Function.CONFIG, rs1, encode(config_store_scale, scale=bits))

    def prepare_compute(self, *, accumulate: bool):
        """Write the operands of the next compute ahead of time.

        Bits 63:32 of a LOOP_WS hold only the destination of C in shared memory, which is unused
        here.
        """
        rs1 = encode(loop_control, accumulate=int(accumulate))
        self.host.operands(rs1, COMPUTE, high=False)

    def compute(self, *, accumulate: bool):
        """Multiply the tiles in shared memory, and count the compute."""
        self.prepare_compute(accumulate=accumulate)
        self.host.matrix.fire("instruction", rocc_word(Function.LOOP_WS))
        self.host.computes += 1

    def store(self, *, wide: bool, relu: bool):
        """Store the accumulator's tile in DRAM after the computes before it are done."""
        rs1 = encode(loop_control, full_c=int(wide), activation=int(relu))
        self.host.instruction(rocc_word(Function.LOOP_WS), rs1, STORE, high=False)
