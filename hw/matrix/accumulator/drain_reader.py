"""Address generator of a drain: rows of the accumulator to read, and their timing."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import SystolicConfig
from ...emit.component import Component

__all__ = ["DrainProgressSignature", "DrainReader", "drain_command"]


def drain_command(config: SystolicConfig) -> data.StructLayout:
    """Layout of one drain: `blocks` column blocks of `rows` rows, both 1 or more.

    Row i of block b is accumulator row ``address + b * block_stride + i``; `block_stride` is at
    least `rows`, and all rows lie inside the accumulator. `wide` sends values in their stored
    format, otherwise in the narrow one; without a narrow format it has no effect. `relu` clips at
    zero. `scale`, if the unit supports it, multiplies first (1.0 for no change).
    """
    width = config.accumulator_address_width
    return data.StructLayout({
        "address": width,
        "rows": 16,
        "blocks": 16,
        "block_stride": width,
        "wide": 1,
        "relu": 1,
        **({"scale": 32} if config.scales else {}),
    })


class DrainProgressSignature(wiring.Signature):
    """Progress of a drain, and of the rows that it may read before all of them are offered.

    Members
    -------
    pointer, end : Out(address width + 1)
        Rows from `pointer` to `end` - 1 are not yet read; equal if no drain is active.
    unfinished : In(1)
        In the cycle of a command: rows of its last block may be offered from now on, until the last
        cycle of `unfinished`. Only if a drain reads in the order of the offers.
    """

    def __init__(self, config: SystolicConfig):
        width = config.accumulator_address_width + 1
        super().__init__({"pointer": Out(width), "end": Out(width), "unfinished": In(1)})


class DrainReader(Component):
    """Address generator of a drain, blocks outer and rows inner, at most one row per cycle.

    The first read comes at the earliest in the cycle after the command. The last row may be
    offered to the array in the cycle of the command, and is readable from `settle` + 1 cycles
    after its offer. If the rows were offered in the order of reading (`in_order`), the first of n
    rows was offered n - 1 cycles before the last. Reading then starts ``max(0, settle - n)``
    cycles late and never overtakes the array; otherwise it starts `settle` cycles late.

    A drain of several blocks may start before the rows of its last block are offered. Then the
    other blocks are read at once, as above with the n rows of one block. The last one follows
    ``1 + max(0, settle - n)`` cycles after the last cycle of `unfinished`.

    Parameters
    ----------
    config : SystolicConfig
    settle : int
    in_order : bool

    Members
    -------
    command : In(stream.Signature(drain_command(config)))
        Accepted while no drain is active and `hold` is low.
    progress : Out(DrainProgressSignature(config))
    hold : In(1)
    permit : In(1)
        A row may be read now; stays high until one is.
    read : Out(stream.Signature(address))
    active : Out(1)
        A row is not yet read.
    wide, relu, scale : Out
        Of the last command.

    """

    def __init__(self, config: SystolicConfig, *, settle: int, in_order: bool):
        self.config = config
        self.settle = settle
        self.in_order = in_order
        layout = drain_command(config)
        width = config.accumulator_address_width
        super().__init__({
            "command": In(stream.Signature(layout)),
            "progress": Out(DrainProgressSignature(config)),
            "hold": In(1),
            "permit": In(1),
            "read": Out(stream.Signature(width)),
            "active": Out(1),
            "wide": Out(1),
            "relu": Out(1),
            **({"scale": Out(32)} if "scale" in layout.members else {}),
        })

    def elaborate(self, platform):
        m = Module()
        width = len(self.progress.pointer)
        command = self.command.payload
        rows = Signal(16, reset_less=True)
        stride = Signal(width, reset_less=True)
        block = Signal(width, reset_less=True)
        rows_left = Signal(16, reset_less=True)
        blocks_left = Signal(16, reset_less=True)
        wait = Signal(range(self.settle + 1), reset_less=True)
        lacks_last = Signal()  # the last block is not yet offered

        m.d.comb += [
            self.command.ready.eq(~self.active & ~self.hold),
            self.read.valid.eq(
                self.active & (wait == 0) & self.permit & ~(lacks_last & (blocks_left == 1))
            ),
            self.read.payload.eq(self.progress.pointer),
        ]
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(lacks_last & ~self.progress.unfinished):
            m.d.sync += [lacks_last.eq(0), wait.eq(self.late(rows, 1))]

        with m.If(self.command.valid & self.command.ready):
            offset = (command.blocks - 1)[:width] * command.block_stride
            m.d.sync += [
                self.active.eq(1),
                self.progress.pointer.eq(command.address),
                self.progress.end.eq(command.address + command.rows + offset),
                rows.eq(command.rows),
                stride.eq(command.block_stride),
                block.eq(command.address),
                rows_left.eq(command.rows),
                blocks_left.eq(command.blocks),
                lacks_last.eq(self.progress.unfinished),
                wait.eq(
                    Mux(
                        self.progress.unfinished,
                        self.late(command.rows, 1),
                        self.late(command.rows, command.blocks),
                    )
                ),
                self.wide.eq(command.wide),
                self.relu.eq(command.relu),
            ]
            if "scale" in self.command.payload.shape().members:
                m.d.sync += self.scale.eq(command.scale)

        with m.If(self.read.valid & self.read.ready):
            m.d.sync += [
                self.progress.pointer.eq(self.progress.pointer + 1),
                rows_left.eq(rows_left - 1),
            ]
            with m.If(rows_left == 1):
                following = (block + stride)[:width]
                m.d.sync += [
                    self.progress.pointer.eq(following),
                    block.eq(following),
                    rows_left.eq(rows),
                    blocks_left.eq(blocks_left - 1),
                ]
                with m.If(blocks_left == 1):
                    m.d.sync += [self.active.eq(0), self.progress.pointer.eq(self.progress.end)]
        return m

    def late(self, rows: Value, blocks: Value | int) -> Value:
        """Return the delay of the first read in cycles, if `blocks` blocks were offered."""
        if not self.in_order:
            return C(self.settle)
        width = ceil_log2(self.settle + 1)
        many, count = rows >= self.settle, rows[:width]
        if isinstance(blocks, Value):
            many |= blocks >= self.settle
            count *= blocks[:width]
        return Mux(many | (count >= self.settle), 0, (self.settle - count)[:width])
