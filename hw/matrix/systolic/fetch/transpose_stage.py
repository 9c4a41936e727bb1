"""Transpose stage: transposes the marked blocks of an operand and forwards other lines."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import bits_for

from ....emit.component import Component
from ....lib.streams import ResponseSignature
from .transposer import Transposer, TransposerConfig

__all__ = ["TransposeStage", "transpose_line"]


def transpose_line(config: TransposerConfig) -> data.StructLayout:
    """Layout of a line; `size` lines with `transpose` are a block of `keep` columns."""
    return data.StructLayout({
        "line": config.size * config.width,
        "transpose": 1,
        "keep": bits_for(config.size),
    })


class TransposeStage(Component):
    """Transpose stage: replaces transposed blocks by their first `keep` columns.

    Other lines pass unchanged within the cycle. A block leaves `size` cycles after it entered,
    while the next one enters, one line per cycle. The block stays inside while `more` lines may
    come; otherwise it is pushed out without a successor. Order is kept.

    Parameters
    ----------
    config : TransposerConfig

    Members
    -------
    i : In(stream.Signature(transpose_line(config)))
    more : In(1)
        Lines are in flight to `i`.
    o : Out(stream.Signature(size * width))
    passing : Out(1)
        The line on `o` comes directly from `i`.

    """

    def __init__(self, config: TransposerConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(transpose_line(config))),
            "more": In(1),
            "o": Out(stream.Signature(config.size * config.width)),
            "passing": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        size = self.config.size
        m.submodules.transposer = transposer = Transposer(self.config)
        vector: Any = ResponseSignature(self.i.p.line.shape()).create()
        connect(m, vector, transposer.i)

        step = Signal(range(size))
        full = Signal()  # a block is inside and leaves
        keep = Signal.like(self.i.p.keep, reset_less=True)  # columns of that block to keep
        fed = Signal()  # a block enters in this round of steps
        feeds = Signal()
        begins = Signal()
        m.d.comb += [
            begins.eq(step == 0),
            feeds.eq(Mux(begins, self.i.valid & self.i.p.transpose, fed)),
            self.passing.eq(begins & ~full & self.i.valid & ~self.i.p.transpose),
        ]

        is_kept = Signal()
        can_enter = Signal()
        steps = Signal()
        m.d.comb += [
            is_kept.eq(full & (step < keep)),
            can_enter.eq(Mux(feeds, self.i.valid, full & ~(begins & ~self.i.valid & self.more))),
            steps.eq(can_enter & (~is_kept | self.o.ready)),
            vector.valid.eq(steps),
            vector.payload.eq(self.i.p.line),
            self.i.ready.eq(Mux(self.passing, self.o.ready, feeds & steps)),
            self.o.valid.eq(self.passing | (can_enter & is_kept)),
            self.o.payload.eq(Mux(self.passing, self.i.p.line, transposer.o)),
        ]
        with m.If(steps):
            m.d.sync += [step.eq(step + 1), fed.eq(feeds)]
            with m.If(step == size - 1):
                m.d.sync += [step.eq(0), full.eq(feeds), keep.eq(self.i.p.keep)]
        return m
