"""Accumulator tiles: C of the products in the unit, from the registers and back to them."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...emit.component import Component
from ...lib.one_hot import select_one
from ...lib.sram import Sram
from .config import SharedFedConfig

__all__ = ["AccumulatorTiles"]

LANES = 8


class AccumulatorTiles(Component):
    """Accumulator tiles: an SRAM for C of each product, a row of 16 numbers per word.

    Registers 2 r and 2 r + 1 of a tile are row r; lane l has columns 2 l and 2 l + 1. A tile first
    gathers its registers, then is read and written by steps, then is drained: in a cycle it may be
    accessed for one of these purposes only. Values follow one cycle after their address and hold
    until the next access of the same kind.

    Parameters
    ----------
    config : SharedFedConfig
    tiles : int

    Members
    -------
    gather : In(tiles), register : In(range(32)), values : In(ArrayLayout(32, 8))
        A register arrives for a tile, one-hot.
    read : In(tiles), read_row : In(range(16)), row : Out(ArrayLayout(32, 16))
    write : In(tiles), write_row : In(range(16)), mask : In(16), written : In(ArrayLayout(32, 16))
        Numbers of a row, those in `mask`. Not of the row that is read in the same cycle.
    drain : In(tiles), drain_register : In(range(32)), drained : Out(ArrayLayout(32, 8))
    """

    def __init__(self, config: SharedFedConfig, tiles: int):
        self.config, self.tiles = config, tiles
        side, registers = config.side, config.registers
        lanes, row = data.ArrayLayout(32, LANES), data.ArrayLayout(32, side)
        super().__init__({
            "gather": In(tiles),
            "register": In(range(registers)),
            "values": In(lanes),
            "read": In(tiles),
            "read_row": In(range(side)),
            "row": Out(row),
            "write": In(tiles),
            "write_row": In(range(side)),
            "mask": In(side),
            "written": In(row),
            "drain": In(tiles),
            "drain_register": In(range(registers)),
            "drained": Out(lanes),
        })

    def elaborate(self, platform):
        m = Module()
        side = self.config.side
        is_odd = self.register[0]
        gathered = Cat(self.values[column // 2] for column in range(side))
        parity = Cat(is_odd if column % 2 else ~is_odd for column in range(side))
        read, drained, odd = Signal(self.tiles), Signal(self.tiles), Signal()
        with m.If(self.read.any()):
            m.d.sync += read.eq(self.read)
        with m.If(self.drain.any()):
            m.d.sync += [drained.eq(self.drain), odd.eq(self.drain_register[0])]
        rows = []
        for tile in range(self.tiles):
            m.submodules[f"tile_{tile}"] = sram = Sram(depth=side, width=32 * side, granularity=32)
            gathers, drains = self.gather[tile], self.drain[tile]
            m.d.comb += [
                sram.write_mask.eq(Mux(gathers, parity, Mux(self.write[tile], self.mask, 0))),
                sram.write_address.eq(Mux(gathers, self.register[1:], self.write_row)),
                sram.write_data.eq(Mux(gathers, gathered, Value.cast(self.written))),
                sram.read_enable.eq(drains | self.read[tile]),
                sram.read_address.eq(Mux(drains, self.drain_register[1:], self.read_row)),
            ]
            if platform is None:
                both = (gathers & self.write[tile]) | (drains & self.read[tile])
                m.d.sync += Assert(~both, "a tile is accessed for two purposes")
            rows.append(sram.read_data)
        chosen = data.View(self.row.shape(), select_one(drained, rows))
        m.d.comb += [
            Value.cast(self.row).eq(select_one(read, rows)),
            *(
                self.drained[lane].eq(Mux(odd, chosen[2 * lane + 1], chosen[2 * lane]))
                for lane in range(LANES)
            ),
        ]
        assert side * side == LANES * 1 << exact_log2(self.config.registers)
        return m
