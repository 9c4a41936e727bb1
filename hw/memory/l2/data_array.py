"""Data array of an L2 slice, with the dirty mask of each line."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ...emit.shared_block import SharedBlock
from ...lib.sram import Sram, SramWriteSignature
from ...lib.streams import ResponseSignature
from .layouts import L2SliceConfig, access_layout, response_layout, store_layout
from .signatures import LineSignature

__all__ = ["L2DataArray"]


class L2DataArray(SharedBlock):
    """Data array: reads, merges and writes one line per cycle, and holds its dirty bytes.

    | cycle | an access                                                             |
    |-------|-----------------------------------------------------------------------|
    | 0     | `access` is given; the line and its dirty mask are read               |
    | 1     | the line is answered, written, and given to the write-back buffer     |

    An access right after another to the same line sees its result by forwarding. Data from DRAM
    never overwrites dirty bytes.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    access : In(ResponseSignature(access_layout(config)))
    written : In(LineSignature(config))
        Bytes of the write of the access of the last cycle.
    arrived : In(8 * config.l2.line_bytes)
        Its refill data from DRAM.
    response : Out(ResponseSignature(response_layout(config)))
        The line, or data that is not kept, answers a read.
    store : Out(ResponseSignature(store_layout(config)))
        The old dirty bytes, or bytes that bypass the cache, go to DRAM.
    busy : Out(1)
        An access of the last cycle is in progress.
    line : Out(8 * config.l2.line_bytes)
        With atomics: the line of that access, before it is written.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "access": In(ResponseSignature(access_layout(config))),
            "written": In(LineSignature(config)),
            "arrived": In(8 * config.l2.line_bytes),
            "response": Out(ResponseSignature(response_layout(config))),
            "store": Out(ResponseSignature(store_layout(config))),
            "busy": Out(1),
            **({"line": Out(8 * config.l2.line_bytes)} if config.has_atomics else {}),
        })

    def build(self, platform):
        m = Module()
        size, lines, access = self.config.l2.line_bytes, self.config.l2.lines, self.access.payload
        m.submodules.words = words = Sram(depth=lines, width=8 * size)
        m.submodules.masks = masks = Sram(depth=lines, width=size)
        read: Any = ResponseSignature(words.shape.address_width).create()
        line_write: Any = SramWriteSignature(words.shape).create()
        mask_write: Any = SramWriteSignature(masks.shape).create()
        connect(m, read, words.read, masks.read)
        connect(m, line_write, words.write)
        connect(m, mask_write, masks.write)
        last, again = Signal(access_layout(self.config)), Signal()
        line, dirty, becomes = Signal(8 * size), Signal(size), Signal(8 * size)
        forwarded, forwarded_dirty = (
            Signal(8 * size, reset_less=True),
            Signal(size, reset_less=True),
        )
        touched, same, becomes_dirty = Signal(), Signal(), Signal(size)
        m.d.comb += [
            touched.eq(self.busy & last.touches),
            same.eq(touched & access.touches & (access.place == last.place)),
            read.valid.eq(self.access.valid & access.touches & ~same),
            read.payload.eq(access.place),
            line.eq(Mux(again, forwarded, words.data)),
            dirty.eq(Mux(again, forwarded_dirty, masks.data)),
        ]
        m.d.sync += self.busy.eq(self.access.valid)
        with m.If(self.access.valid):
            m.d.sync += [last.eq(access), again.eq(same)]
            with m.If(same):
                m.d.sync += [forwarded.eq(becomes), forwarded_dirty.eq(becomes_dirty)]
        m.d.comb += [
            becomes.eq(self.merged(last, line, dirty)),
            becomes_dirty.eq(
                Mux(last.cleans | last.fresh, 0, dirty)
                | Mux(last.writes & ~last.cleans, self.written.strobes, 0)
            ),
            line_write.mask.eq(touched & (last.writes | last.fills)),
            line_write.address.eq(last.place),
            line_write.data.eq(becomes),
            mask_write.mask.eq(touched & (last.writes | last.cleans | last.fresh)),
            mask_write.address.eq(last.place),
            mask_write.data.eq(becomes_dirty),
        ]
        if self.config.has_atomics:
            m.d.comb += self.line.eq(line)
        self.respond(m, last, becomes)
        self.give_up(m, last, line, dirty)
        return m

    def merged(self, last: data.View, line: Signal, dirty: Signal) -> Value:
        """Return the line with the written bytes, or refill data for bytes that are not dirty."""
        new = Mux(last.writes, self.written.data, self.arrived)
        mask = Mux(last.writes, self.written.strobes, ~dirty)
        merged = Cat(
            Mux(mask[n], new.word_select(n, 8), line.word_select(n, 8)) for n in range(len(dirty))
        )
        return Mux(last.writes | last.fills, merged, line)

    def respond(self, m: Module, last: data.View, becomes: Signal):
        """Answer a read; beats that are not full have a response of their own."""
        response = self.response.payload
        m.d.comb += [
            self.response.valid.eq(self.busy & last.responds),
            response.id.eq(last.id),
            response.beats.eq(last.beats),
            response.data.eq(Mux(last.from_dram, self.arrived, becomes)),
            response.codes.eq(
                Cat(
                    last.codes.word_select(n, 2) & ~last.full[n].replicate(2)
                    for n in range(self.config.beats)
                )
            ),
        ]

    def give_up(self, m: Module, last: data.View, line: Signal, dirty: Signal):
        """Give the bytes of a write-back to its buffer."""
        store = self.store.payload
        m.d.comb += [
            self.store.valid.eq(self.busy & last.pushes),
            store.number.eq(last.back),
            store.data.eq(Mux(last.passes, self.written.data, line)),
            store.strobes.eq(Mux(last.passes, self.written.strobes, dirty)),
        ]
