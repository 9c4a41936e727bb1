"""Refill of an L1 cache: look-ups that miss, reads of their lines, and tags of arriving lines."""

from amaranth import *
from amaranth.lib.wiring import connect, flipped
from amaranth.utils import exact_log2

from ...lib.streams import Queue
from .mshr_file import MshrFile
from .tag_array import TagArray

__all__ = ["lookup_line", "read_lines", "take_beat"]


def lookup_line(m: Module, mshrs: MshrFile, tags: TagArray, line: Value):
    """Compare the tags with a line, and offer the line to the MSHRs."""
    m.d.comb += [
        tags.tag.eq(line[mshrs.config.cache.set_width :]),
        mshrs.valids.eq(tags.valids),
        mshrs.line.eq(line),
    ]


def read_lines(m: Module, mshrs: MshrFile, line: Value, port):
    """Request missing lines from memory at `port`, in order, 1 cycle after their look-up."""
    config = mshrs.config
    m.submodules.line_reads = line_reads = Queue(port.payload.shape(), config.cache.mshrs)
    m.d.comb += [
        line_reads.i.valid.eq(mshrs.begins),  # the queue has room for every MSHR
        line_reads.i.payload.id.eq(mshrs.entry),
        line_reads.i.payload.beat.eq(Cat(C(0, exact_log2(config.beats)), line)),
    ]
    connect(m, line_reads.o, flipped(port))


def take_beat(m: Module, mshrs: MshrFile, tags: TagArray, takes: Value, beat) -> Signal:
    """Count a `beat` of a line if it `takes`; return the ways to write it to, one-hot or 0.

    The line becomes valid with its last beat.
    """
    fill, set_width = mshrs.fill, mshrs.config.cache.set_width
    last = C(1, 1) if mshrs.config.beats == 1 else fill.beat.all()
    ways = Signal.like(fill.way, name="filled_ways")
    m.d.comb += [
        ways.eq(Mux(takes, fill.way, 0)),
        mshrs.filled.eq(takes),
        mshrs.filled_entry.eq(beat.id),
        mshrs.error.eq(beat.error),
        tags.write.eq(Mux(fill.forgotten, 0, ways)),
        tags.write_set.eq(fill.line[:set_width]),
        tags.write_tag.eq(fill.line[set_width:]),
        tags.write_valid.eq(last & ~fill.fails & ~beat.error),
    ]
    return ways
