"""Signatures between the blocks of the tensor unit with operands in shared memory."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.sram_macros import TWO_PORTS, SramShape
from ...lib.sram import SramWriteSignature
from ...lib.streams import ResponseSignature
from .config import READ_BYTES, SharedFedConfig
from .layouts import (
    OPERAND_LINES,
    SLOTS,
    columns_layout,
    numbers_layout,
    product_layout,
    step_layout,
)

__all__ = [
    "LANES",
    "OPERAND_BUFFER",
    "BlockReadSignature",
    "BlockSignature",
    "ComputeSignature",
    "DrainSignature",
    "GatherSignature",
    "OperandLineSignature",
    "RowReadSignature",
    "TileDrainSignature",
    "TileStepSignature",
]

LANES = 8
#: Memory for the lines of an operand.
OPERAND_BUFFER = SramShape(
    depth=SLOTS * OPERAND_LINES,
    width=8 * READ_BYTES,
    granularity=8 * READ_BYTES,
    ports=TWO_PORTS,
)


class GatherSignature(wiring.Signature):
    """Register of C that arrives for a tile.

    Members
    -------
    tiles : Out(queue)
        The tile, one-hot, or 0.
    register : Out(range(32))
    values : Out(ArrayLayout(32, 8))
    """

    def __init__(self, config: SharedFedConfig):
        super().__init__({
            "tiles": Out(config.queue),
            "register": Out(range(config.registers)),
            "values": Out(data.ArrayLayout(32, LANES)),
        })


class TileStepSignature(wiring.Signature):
    """Accesses of the steps to the accumulator tiles.

    Members
    -------
    read, read_row : Out(queue), Out(range(16))
        Tile, one-hot, and row.
    row : In(ArrayLayout(32, 16))
        The row, one cycle later; it holds until the next read.
    write, write_row, mask, written : Out
        Numbers of a row, those in `mask`. Not of the row that is read in the same cycle.
    """

    def __init__(self, config: SharedFedConfig):
        row = data.ArrayLayout(32, config.side)
        super().__init__({
            "read": Out(config.queue),
            "read_row": Out(range(config.side)),
            "row": In(row),
            "write": Out(config.queue),
            "write_row": Out(range(config.side)),
            "mask": Out(config.side),
            "written": Out(row),
        })


class TileDrainSignature(wiring.Signature):
    """Read of a register of a finished tile.

    Members
    -------
    tiles : Out(queue)
        The tile, one-hot, or 0.
    register : Out(range(32))
    values : In(ArrayLayout(32, 8))
        The register, one cycle later; it holds until the next read.
    """

    def __init__(self, config: SharedFedConfig):
        super().__init__({
            "tiles": Out(config.queue),
            "register": Out(range(config.registers)),
            "values": In(data.ArrayLayout(32, LANES)),
        })


class ComputeSignature(wiring.Signature):
    """Computation of the oldest product that is not computed.

    Members
    -------
    computable : Out(1)
        It has gathered C.
    tile : Out(queue)
        One-hot.
    computed : In(1)
        Its last step starts.
    complete : In(queue)
        Tiles that have their results from the next cycle on.
    """

    def __init__(self, config: SharedFedConfig):
        super().__init__({
            "computable": Out(1),
            "tile": Out(config.queue),
            "computed": In(1),
            "complete": In(config.queue),
        })


class DrainSignature(wiring.Signature):
    """Drain of the oldest product.

    Members
    -------
    drainable : Out(1)
        It has its results; until `drained`.
    tile : Out(queue)
        One-hot.
    info : Out(product_layout(config))
        Its instruction.
    drained : In(1)
        The last result leaves.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "drainable": Out(1),
            "tile": Out(SharedFedConfig.of(config.tensor).queue),
            "info": Out(product_layout(config)),
            "drained": In(1),
        })


class OperandLineSignature(wiring.Signature):
    """Lines of A and B that arrive from shared memory, on their way to the operand buffers.

    Members
    -------
    a, b : Out(SramWriteSignature(OPERAND_BUFFER))
        Of a slot, the lines of A by half, then by row; those of B. Numbers of a line are in the
        order of columns.
    """

    def __init__(self):
        write = SramWriteSignature(OPERAND_BUFFER)
        super().__init__({"a": Out(write), "b": Out(write)})


class BlockReadSignature(wiring.Signature):
    """Read of a line of B.

    Members
    -------
    request : Out(ResponseSignature(OPERAND_BUFFER.address_width))
    data : In(8 * READ_BYTES)
        The line read last, one cycle later.
    """

    def __init__(self):
        super().__init__({
            "request": Out(ResponseSignature(OPERAND_BUFFER.address_width)),
            "data": In(8 * READ_BYTES),
        })


class BlockSignature(wiring.Signature):
    """Block of B that 16 steps share.

    Members
    -------
    ready : Out(1)
        The first step of the block may begin.
    begin : In(1)
        It begins; only if `ready`.
    columns : Out(columns_layout(config))
        Numbers of the block, 2 cycles after `begin`.
    """

    def __init__(self, config: SharedFedConfig):
        super().__init__({"ready": Out(1), "begin": In(1), "columns": Out(columns_layout(config))})


class RowReadSignature(wiring.Signature):
    """Read of a step's numbers of A.

    Members
    -------
    read : Out(1), step : Out(step_layout(config))
        A step starts.
    selected : Out(step_layout(config))
        The step of the previous cycle.
    free : Out(1)
        The last step of a product starts: the next step uses the operands of the next product.
    row : In(numbers_layout(config))
        Numbers of A of a step, 2 cycles after its start.
    """

    def __init__(self, config: SharedFedConfig):
        super().__init__({
            "read": Out(1),
            "step": Out(step_layout(config)),
            "selected": Out(step_layout(config)),
            "free": Out(1),
            "row": In(numbers_layout(config)),
        })
