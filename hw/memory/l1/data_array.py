"""Data array of an L1 cache."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import select
from ...lib.sram import Sram
from .mshr import MshrConfig

__all__ = ["DataArray"]


class DataArray(SharedBlock):
    """Data array: written by beats or their bytes, read by words from several ways of a set.

    Read latency 1 cycle. `way` selects among the ways in the cycle of the data.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    read : In(config.cache.ways)
        Ways that are read. Never a beat that is written in the same cycle.
    read_set : In(config.cache.set_width)
    read_place : In(config.place_width)
        The word's number in its line.
    way : In(config.cache.ways)
        One-hot: the way whose word is output, one of those read.
    word : Out(8 * config.word_bytes)
        Combinational from `way`.
    write : In(config.cache.ways)
        Ways that are written.
    write_set : In(config.cache.set_width)
    write_beat : In(exact_log2(config.beats))
    write_data : In(8 * config.beat_bytes)
    write_strobes : In(config.strobe_width)
        Bytes that are written, if the config has strobes.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__({
            "read": In(config.cache.ways),
            "read_set": In(config.cache.set_width),
            "read_place": In(config.place_width),
            "way": In(config.cache.ways),
            "word": Out(8 * config.word_bytes),
            "write": In(config.cache.ways),
            "write_set": In(config.cache.set_width),
            "write_beat": In(exact_log2(config.beats)),
            "write_data": In(8 * config.beat_bytes),
            "write_strobes": In(config.strobe_width),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        place = Signal(config.word_width, reset_less=True)  # of the word in its beat
        with m.If(self.read.any()):
            m.d.sync += place.eq(self.read_place)
        words = []
        for way in range(config.cache.ways):
            beats = Sram(
                depth=config.cache.sets * config.beats,
                width=8 * config.beat_bytes,
                granularity=8 if config.strobe_width else None,
            )
            m.submodules[f"way_{way}"] = beats
            word = Signal.like(self.word, name=f"word_{way}")
            mask = Mux(self.write[way], self.write_strobes, 0)
            m.d.comb += [
                beats.read_enable.eq(self.read[way]),
                beats.read_address.eq(Cat(self.read_place[config.word_width :], self.read_set)),
                beats.write_mask.eq(mask if config.strobe_width else self.write[way]),
                beats.write_address.eq(Cat(self.write_beat, self.write_set)),
                beats.write_data.eq(self.write_data),
                word.eq(beats.read_data.word_select(place, 8 * config.word_bytes)),
            ]
            words.append(word)
        m.d.comb += self.word.eq(select(self.way, words))
        return m
