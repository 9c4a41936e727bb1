"""Data array of an L1 cache with byte writes."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import select
from ...lib.sram import Sram
from .mshr import MshrConfig

__all__ = ["DataArray"]


class DataArray(SharedBlock):
    """Data array: written by bytes, read by beats from several ways of a set.

    Read latency 1 cycle. `way` selects among the ways in the cycle of the data.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    read : In(config.cache.ways)
        Ways that are read. Never a beat that is written in the same cycle.
    read_set : In(config.cache.set_width)
    read_beat : In(exact_log2(config.beats))
        The beat's number in its line.
    way : In(config.cache.ways)
        One-hot: the way whose beat is output, one of those read.
    beat : Out(8 * config.beat_bytes)
        Combinational from `way`.
    write : In(config.cache.ways)
        Ways that are written.
    write_set, write_beat : In
    write_data : In(8 * config.beat_bytes)
    write_strobes : In(config.beat_bytes)
        Bytes that are written.
    """

    read: Signal
    read_set: Signal
    read_beat: Signal
    way: Signal
    beat: Signal
    write: Signal
    write_set: Signal
    write_beat: Signal
    write_data: Signal
    write_strobes: Signal

    def __init__(self, config: MshrConfig):
        self.config = config
        ways, beat_width = config.cache.ways, exact_log2(config.beats)
        super().__init__({
            "read": In(ways),
            "read_set": In(config.cache.set_width),
            "read_beat": In(beat_width),
            "way": In(ways),
            "beat": Out(8 * config.beat_bytes),
            "write": In(ways),
            "write_set": In(config.cache.set_width),
            "write_beat": In(beat_width),
            "write_data": In(8 * config.beat_bytes),
            "write_strobes": In(config.beat_bytes),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        found = []
        for way in range(config.cache.ways):
            beats = Sram(
                depth=config.cache.sets * config.beats, width=8 * config.beat_bytes, granularity=8
            )
            m.submodules[f"way_{way}"] = beats
            m.d.comb += [
                beats.read_enable.eq(self.read[way]),
                beats.read_address.eq(Cat(self.read_beat, self.read_set)),
                beats.write_mask.eq(Mux(self.write[way], self.write_strobes, 0)),
                beats.write_address.eq(Cat(self.write_beat, self.write_set)),
                beats.write_data.eq(self.write_data),
            ]
            found.append(beats.read_data)
        m.d.comb += self.beat.eq(select(self.way, found))
        return m
