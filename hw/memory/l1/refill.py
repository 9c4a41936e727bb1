"""Refill of an L1 cache: writes arriving beats of a line to its arrays."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.streams import ResponseSignature
from .mshr_config import MshrConfig
from .signatures import RefillSignature, data_write_layout, line_beat_layout, tag_write_layout

__all__ = ["Refill"]


class Refill(SharedBlock):
    """Refill: writes each beat to the way that the MSHR of its line reserves, and the tag.

    Combinational. The line becomes valid with its last beat, unless a beat has an error. No tag
    is written for a line that is not to be kept.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    beat : In(ResponseSignature(line_beat_layout(config)))
    mshrs : Out(RefillSignature(config))
        To `MshrFile`.
    tags : Out(ResponseSignature(tag_write_layout(config.cache)))
        To `TagArray`.
    data : Out(ResponseSignature(data_write_layout(config)))
        To `DataArray`; all bytes of the beat.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__({
            "beat": In(ResponseSignature(line_beat_layout(config))),
            "mshrs": Out(RefillSignature(config)),
            "tags": Out(ResponseSignature(tag_write_layout(config.cache))),
            "data": Out(ResponseSignature(data_write_layout(config))),
        })

    def build(self, platform):
        m = Module()
        beat, fill = self.beat.payload, self.mshrs.destination
        tag, words = self.tags.payload, self.data.payload
        set_width = self.config.cache.set_width
        last = C(1, 1) if self.config.beats == 1 else fill.beat.all()
        m.d.comb += [
            self.mshrs.valid.eq(self.beat.valid),
            self.mshrs.entry.eq(beat.id),
            self.mshrs.error.eq(beat.error),
            self.tags.valid.eq(self.beat.valid & ~fill.forgotten),
            tag.ways.eq(fill.way),
            tag.set.eq(fill.line[:set_width]),
            tag.tag.eq(fill.line[set_width:]),
            tag.is_valid.eq(last & ~fill.fails & ~beat.error),
            self.data.valid.eq(self.beat.valid),
            words.ways.eq(fill.way),
            words.set.eq(fill.line[:set_width]),
            words.beat.eq(fill.beat),
            words.data.eq(beat.data),
            words.strobes.eq(~0),
        ]
        return m
