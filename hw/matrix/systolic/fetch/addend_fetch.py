"""Addend fetch: reads rows of addends from shared memory and writes them to the accumulator."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from ....config import MatrixUnitConfig
from ....lib.interfaces.shared_memory import WideReadSignature
from ....lib.register_slices import RegisterSlice
from ....lib.streams import Queue
from ...accumulator.accumulator import accumulator_fill
from ...operation import OperationLimits

__all__ = ["AddendFetch", "addend_parts", "addend_walk"]


def addend_parts(config: MatrixUnitConfig) -> int:
    """Return the reads of B that a row of addends of one column block needs."""
    matrix = config.matrix
    return max(1, matrix.columns * matrix.wide_bytes // matrix.b_bytes)


def addend_walk(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of a walk over the addends of a tile, column block by column block, row by row.

    Rows are dense from `line` on, `j_blocks` column blocks each. They go to the accumulator rows
    from `base` on, those of a block `i_blocks` blocks of rows after those of the one before.
    `height` and `last_block` are last indices.
    """
    limits = OperationLimits(config=config)
    return data.StructLayout({
        "line": bits_for(limits.b_lines - 1),
        "height": 16,
        "last_block": bits_for(limits.j_blocks - 1),
        "j_blocks": bits_for(limits.j_blocks),
        "i_blocks": bits_for(limits.i_blocks),
        "base": config.matrix.accumulator_address_width,
    })


class AddendFetch(wiring.Component):
    """Addend fetch: walks over the addends of one tile at a time.

    One line per cycle while `memory` and `fill` accept them. A line is requested only if the queue
    has room, so responses are never refused.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    valid : In(1)
        `walk` begins in this cycle; only while not `active`.
    walk : In(addend_walk(config))
    memory : Out(WideReadSignature(config.shared, b_bytes))
    fill : Out(stream.Signature(accumulator_fill(config.matrix)))
    active : Out(1)
        From the cycle after `valid` until the last line has left.
    arrived : Out(1)
        The last line of a row leaves in this cycle.

    """

    valid: Signal
    walk: data.View
    memory: Any
    fill: stream.Interface
    active: Signal
    arrived: Signal

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__({
            "valid": In(1),
            "walk": In(addend_walk(config)),
            "memory": Out(WideReadSignature(config.shared, config.matrix.b_bytes)),
            "fill": Out(stream.Signature(accumulator_fill(config.matrix))),
            "active": Out(1),
            "arrived": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config, matrix = self.config, self.config.matrix
        parts = addend_parts(config)
        depth = config.shared.read_latency + 4
        place = data.StructLayout({
            "address": matrix.accumulator_address_width,
            "part": range(parts),
            "last": 1,  # of the tile
        })
        m.submodules.lines = lines = Queue(8 * matrix.b_bytes, depth)
        m.submodules.places = places = Queue(place, depth)
        asking = Signal()
        line = self.count(m, places)
        # Isolates the walk from the arbitration of the memory banks.
        m.submodules.asked = asked = RegisterSlice(line.shape())
        # A place is queued from the step of the walk until its line leaves.
        m.d.comb += [
            asked.i.valid.eq(asking & places.i.ready),
            asked.i.payload.eq(line),
            places.i.valid.eq(asking & asked.i.ready),
            self.memory.request.valid.eq(asked.o.valid),
            self.memory.request.payload.eq(asked.o.payload << exact_log2(matrix.b_bytes)),
            asked.o.ready.eq(self.memory.request.ready),
            lines.i.valid.eq(self.memory.response.valid),
            lines.i.payload.eq(self.memory.response.payload),
        ]
        taken = self.fill.valid & self.fill.ready
        word_mask = (1 << matrix.columns // parts) - 1
        m.d.comb += [
            self.fill.valid.eq(lines.o.valid & places.o.valid),
            self.fill.p.address.eq(places.o.p.address),
            self.fill.p.data.eq(lines.o.payload[: 8 * matrix.b_bytes].replicate(parts)),
            self.fill.p.mask.eq(word_mask << (places.o.p.part * (matrix.columns // parts))),
            lines.o.ready.eq(taken),
            places.o.ready.eq(taken),
            self.arrived.eq(taken & (places.o.p.part == parts - 1)),
        ]
        with m.If(self.valid):
            m.d.sync += [self.active.eq(1), asking.eq(1)]
        with m.Elif(taken & places.o.p.last):
            m.d.sync += self.active.eq(0)
        with m.If(places.i.valid & places.i.ready & places.i.p.last):
            m.d.sync += asking.eq(0)
        return m

    def count(self, m, places) -> Value:
        """Count through the walk, and return the number of the line to be read."""
        config, matrix = self.config, self.config.matrix
        parts, limits = addend_parts(config), OperationLimits(config=config)
        walk = Signal(addend_walk(config), reset_less=True)
        line, block_line = (
            Signal(bits_for(limits.b_lines), name=name, reset_less=True)
            for name in ("line", "block_line")  # first line of this row; of the first row
        )
        part, row, block = Signal(range(parts)), Signal(16), Signal(walk.last_block.shape())
        address, block_address = (
            Signal(matrix.accumulator_address_width, name=name, reset_less=True)
            for name in ("address", "block_address")
        )
        row_ends, block_ends = Signal(), Signal()
        next_address = (block_address + (walk.i_blocks << exact_log2(matrix.rows)))[: len(address)]
        m.d.comb += [
            row_ends.eq(part == parts - 1),
            block_ends.eq(row_ends & (row == walk.height)),
            places.i.p.address.eq(address),
            places.i.p.part.eq(part),
            places.i.p.last.eq(block_ends & (block == walk.last_block)),
        ]
        with m.If(places.i.valid & places.i.ready):
            m.d.sync += part.eq(part + 1)
            with m.If(row_ends):
                m.d.sync += [
                    part.eq(0),
                    row.eq(row + 1),
                    address.eq(address + 1),
                    line.eq(line + (walk.j_blocks << exact_log2(parts))),
                ]
            with m.If(block_ends):
                m.d.sync += [
                    row.eq(0),
                    block.eq(block + 1),
                    block_line.eq(block_line + parts),
                    line.eq(block_line + parts),
                    address.eq(next_address),
                    block_address.eq(next_address),
                ]
        with m.If(self.valid):
            m.d.sync += [
                walk.eq(self.walk),
                *(each.eq(0) for each in (part, row, block)),
                *(each.eq(self.walk.line) for each in (line, block_line)),
                *(each.eq(self.walk.base) for each in (address, block_address)),
            ]
        return (line + part)[: len(line)]
