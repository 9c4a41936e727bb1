"""Data array of an L1 cache."""

from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, connect

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import select
from ...lib.sram import Sram, SramWriteSignature
from ...lib.streams import ResponseSignature
from .mshr_config import MshrConfig
from .signatures import WordSignature, data_read_layout, data_write_layout

__all__ = ["DataArray"]


class DataArray(SharedBlock):
    """Data array: written by beats or their bytes, read by words from several ways of a set.

    Read latency 1 cycle: `selection` refers to the words of the last valid `read`.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    read : In(ResponseSignature(data_read_layout(config)))
        Never a beat that is written in the same cycle.
    selection : In(WordSignature(config))
    write : In(ResponseSignature(data_write_layout(config)))
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__({
            "read": In(ResponseSignature(data_read_layout(config))),
            "selection": In(WordSignature(config)),
            "write": In(ResponseSignature(data_write_layout(config))),
        })

    def build(self, platform):
        m = Module()
        config, read, write = self.config, self.read.payload, self.write.payload
        place = Signal(config.word_width, reset_less=True)  # of the word in its beat
        with m.If(self.read.valid):
            m.d.sync += place.eq(read.place)
        words = []
        for way in range(config.cache.ways):
            beats = Sram(
                depth=config.cache.sets * config.beats,
                width=8 * config.beat_bytes,
                granularity=8 if config.strobe_width else None,
            )
            m.submodules[f"way_{way}"] = beats
            way_read: Any = ResponseSignature(beats.shape.address_width).create()
            way_write: Any = SramWriteSignature(beats.shape).create()
            connect(m, way_read, beats.read)
            connect(m, way_write, beats.write)
            word = Signal.like(self.selection.word, name=f"word_{way}")
            writes = self.write.valid & write.ways[way]
            mask = Mux(writes, write.strobes, 0) if config.strobe_width else writes
            m.d.comb += [
                way_read.valid.eq(self.read.valid & read.ways[way]),
                way_read.payload.eq(Cat(read.place[config.word_width :], read.set)),
                way_write.mask.eq(mask),
                way_write.address.eq(Cat(write.beat, write.set)),
                way_write.data.eq(write.data),
                word.eq(beats.data.word_select(place, 8 * config.word_bytes)),
            ]
            words.append(word)
        m.d.comb += self.selection.word.eq(select(self.selection.way, words))
        return m
