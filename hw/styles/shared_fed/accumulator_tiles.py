"""Accumulator tiles: C of the products in the unit, from the registers and back to them."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, connect
from amaranth.utils import exact_log2

from ...emit.component import Component
from ...lib.one_hot import select_one
from ...lib.sram import MemoryPorts, Sram
from .config import SharedFedConfig
from .signatures import LANES, GatherSignature, TileDrainSignature, TileStepSignature

__all__ = ["AccumulatorTiles"]


class AccumulatorTiles(Component):
    """Accumulator tiles: an SRAM for C of each product, a row of 16 numbers per word.

    Registers 2 r and 2 r + 1 of a tile are row r; lane l has columns 2 l and 2 l + 1. A tile first
    gathers its registers, then is read and written by steps, then is drained: in a cycle it may be
    accessed for one of these purposes only. Values follow one cycle after their address and hold
    until the next access of the same kind.

    Parameters
    ----------
    config : SharedFedConfig

    Members
    -------
    gather : In(GatherSignature(config))
    step : In(TileStepSignature(config))
    drain : In(TileDrainSignature(config))
    """

    def __init__(self, config: SharedFedConfig):
        self.config, self.tiles = config, config.queue
        super().__init__({
            "gather": In(GatherSignature(config)),
            "step": In(TileStepSignature(config)),
            "drain": In(TileDrainSignature(config)),
        })

    def elaborate(self, platform):
        m = Module()
        side, gather, step, drain = self.config.side, self.gather, self.step, self.drain
        is_odd = gather.register[0]
        gathered = Cat(gather.values[column // 2] for column in range(side))
        parity = Cat(is_odd if column % 2 else ~is_odd for column in range(side))
        read, drained, odd = Signal(self.tiles), Signal(self.tiles), Signal()
        with m.If(step.read.any()):
            m.d.sync += read.eq(step.read)
        with m.If(drain.tiles.any()):
            m.d.sync += [drained.eq(drain.tiles), odd.eq(drain.register[0])]
        rows = []
        for tile in range(self.tiles):
            m.submodules[f"tile_{tile}"] = memory = Sram(
                depth=side, width=32 * side, granularity=32
            )
            sram = MemoryPorts(memory, f"tile_{tile}")
            connect(m, sram, memory)
            gathers, drains = gather.tiles[tile], drain.tiles[tile]
            m.d.comb += [
                sram.write.mask.eq(Mux(gathers, parity, Mux(step.write[tile], step.mask, 0))),
                sram.write.address.eq(Mux(gathers, gather.register[1:], step.write_row)),
                sram.write.data.eq(Mux(gathers, gathered, Value.cast(step.written))),
                sram.read.valid.eq(drains | step.read[tile]),
                sram.read.payload.eq(Mux(drains, drain.register[1:], step.read_row)),
            ]
            if platform is None:
                both = (gathers & step.write[tile]) | (drains & step.read[tile])
                m.d.sync += Assert(~both, "a tile is accessed for two purposes")
            rows.append(sram.data)
        chosen = data.View(step.row.shape(), select_one(drained, rows))
        m.d.comb += [
            Value.cast(step.row).eq(select_one(read, rows)),
            *(
                drain.values[lane].eq(Mux(odd, chosen[2 * lane + 1], chosen[2 * lane]))
                for lane in range(LANES)
            ),
        ]
        assert side * side == LANES * 1 << exact_log2(self.config.registers)
        return m
