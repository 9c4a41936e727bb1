"""Tag array of an L1 cache."""

from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import CacheConfig
from ...emit.shared_block import SharedBlock
from ...emit.sram_macros import ONE_PORT
from ...lib.sram import Sram, SramWriteSignature
from ...lib.streams import ResponseSignature
from .signatures import LookupSignature, tag_write_layout

__all__ = ["TagArray"]


class TagArray(SharedBlock):
    """Tag array: compares the tags of a set with a tag; invalidates all sets on request.

    Read latency 1 cycle: `lookup` refers to the set of the last valid `read`, as its contents
    were then. After a reset and after `invalidate` a sweep clears one set
    per cycle in which no set is written. No set may be read meanwhile.

    The memory has one port, so no set may be read while one is written. A subclass
    with `TWO_PORTS` excludes only the written set.

    Parameters
    ----------
    config : CacheConfig

    Members
    -------
    read : In(ResponseSignature(config.set_width))
        Read a set. Never in a cycle of a write.
    lookup : In(LookupSignature(config))
    write : In(ResponseSignature(tag_write_layout(config)))
    invalidate : In(1)
        Start a sweep in the next cycle, of all that was written until now.
    sweeping : Out(1)
        The sweep is in progress.
    """

    #: Ports of the memory.
    PORTS = ONE_PORT

    def __init__(self, config: CacheConfig):
        self.config = config
        super().__init__({
            "read": In(ResponseSignature(config.set_width)),
            "lookup": In(LookupSignature(config)),
            "write": In(ResponseSignature(tag_write_layout(config))),
            "invalidate": In(1),
            "sweeping": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        mark, sweeps_anew = self.mark(m)
        width = config.tag_width + len(mark)
        m.submodules.lines = lines = Sram(
            depth=config.sets, width=config.ways * width, granularity=width, ports=self.PORTS
        )
        connect(m, flipped(self.read), lines.read)
        line_write: Any = SramWriteSignature(lines.shape).create()
        connect(m, line_write, lines.write)
        sweeps, next_set = Signal(init=1), Signal(config.set_width)
        written, write = Signal(width), self.write.payload
        m.d.comb += [
            self.sweeping.eq(sweeps),
            line_write.mask.eq(Mux(self.write.valid, write.ways, 0)),
            line_write.address.eq(write.set),
            written.eq(Cat(write.tag, Mux(write.is_valid, mark, 0))),
            line_write.data.eq(written.replicate(config.ways)),
        ]
        for way in range(config.ways):
            line = lines.data.word_select(way, width)
            m.d.comb += [
                self.lookup.valids[way].eq(line[config.tag_width :] == mark),
                self.lookup.hits[way].eq(line == Cat(self.lookup.tag, mark)),
            ]
        with m.If(sweeps & ~self.write.valid):
            m.d.comb += [
                line_write.mask.eq(~0),
                line_write.address.eq(next_set),
                written.eq(0),
            ]
            m.d.sync += [next_set.eq(next_set + 1), sweeps.eq(~next_set.all())]
        with m.If(sweeps_anew):
            m.d.sync += [next_set.eq(0), sweeps.eq(1)]
        return m

    def mark(self, m: Module) -> tuple[Value, Value]:
        """Return the mark stored with the tag of a valid line, never 0, and when to sweep."""
        return C(1, 1), self.invalidate
