"""Output-stationary mesh: operands stream from two sides, sums stay until they are complete."""

from itertools import pairwise
from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from ...config import SystolicConfig
from ...config.formats import FloatFormat
from ...emit.component import Component
from ...lib.streams import ResponseSignature
from ..accumulator.accumulator import accumulator_target
from .mesh import Mesh
from .output_stationary import output_stationary_latency
from .processing_element import (
    OutputStationaryProcessingElement,
    multiply_add_config,
    output_slots,
    output_stationary_word,
)
from .skew import SkewConfig, skewed

__all__ = ["OutputStationaryMesh", "RowTargets"]


class RowTargets(Component):
    """Destinations of the rows of finished tiles: row r ``r * slots`` cycles after the tile.

    Up to `slots` tiles are in flight, interleaved. Row 0 is combinational from `i`.

    Parameters
    ----------
    config : SystolicConfig

    Members
    -------
    i : In(ResponseSignature(accumulator_target(config)))
        A tile is finished. Destination of row 0; the other rows follow it. Not in a cycle with a
        row of an earlier tile.
    o : Out(ResponseSignature(accumulator_target(config)))
    waiting : Out(1)
        A row is still to come. From registers.

    """

    def __init__(self, config: SystolicConfig):
        self.config = config
        super().__init__({
            "i": In(ResponseSignature(accumulator_target(config))),
            "o": Out(ResponseSignature(accumulator_target(config))),
            "waiting": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        slots = output_slots(multiply_add_config(self.config))
        layout = data.StructLayout({
            "target": accumulator_target(self.config),
            "rows": ceil_log2(self.config.rows + 1),
        })
        # A ring with one entry per slot: the last register's entry arrived `slots` cycles ago.
        ring = [Signal(layout, name=f"slot_{k}") for k in range(slots)]
        due, following = ring[-1], ring[0]
        rows = Signal(ceil_log2(self.config.rows + 1))
        m.d.comb += [
            rows.eq(Mux(self.i.valid, self.config.rows, due.rows)),
            self.o.valid.eq(rows != 0),
            self.o.payload.eq(Mux(self.i.valid, self.i.payload.as_value(), due.target.as_value())),
            self.waiting.eq(Cat(entry.rows for entry in ring).any()),
        ]
        m.d.sync += [
            following.target.address.eq(self.o.payload.address + 1),
            following.target.accumulate.eq(self.o.payload.accumulate),
            following.rows.eq(Mux(self.o.valid, rows - 1, 0)),
        ]
        m.d.sync += [after.eq(entry) for entry, after in pairwise(ring)]
        return m


class OutputStationaryMesh(Mesh):
    """Output-stationary mesh: adds the product of a column of A and a row of B per step.

    The numerics are `systolic_os`: per element one chain of multiply-adds over all steps of a
    tile, from +0. One step per cycle, no back-pressure. With L the multiply-add latency, the
    steps of one tile are offered in cycles congruent modulo L, in order of k. A cycle without a
    valid step leaves its tile unchanged. L tiles are thus interleaved, for instance L
    neighbouring column blocks of C, which share each column of A. A tile's row r has its sums
    ``output_stationary_latency(config) + r * slots`` cycles after its last step, with slots =
    max(2, L), and its target `addend_latency` cycles earlier. Two last steps at a distance
    divisible by slots must be at least ``rows * slots`` cycles apart. Then the rows of interleaved
    tiles leave one per cycle, while the next tiles are computed::

        cycle (L = 2)  0   1   2   3   ...  2K    2K + 1
        tile           P   Q   P   Q   ...  R     S
        k              0   0   1   1   ...  0     0
        first          1   1   0   0   ...  1     1

    Parameters
    ----------
    config : SystolicConfig

    Members
    -------
    step : In(ResponseSignature(array_step(config)))
    target, sums, in_flight, busy
        As in `Mesh`; `in_flight` also from the first step of a tile on.

    """

    def elaborate(self, platform):
        m = Module()
        config = self.config
        element_config = multiply_add_config(config)
        words, b = self.left_edge(m), self.top_edge(m)
        rows = [[OutputStationaryProcessingElement(element_config) for _ in b] for _ in words]
        for number, (row, word) in enumerate(zip(rows, words, strict=True)):
            for column, element in enumerate(row):
                m.submodules[f"pe_{number}_{column}"] = element
            m.d.comb += row[0].word.payload.eq(word)
            for left, right in pairwise(row):
                connect(m, left.next_word, right.word)
        for element, top in zip(rows[0], b, strict=True):
            m.d.comb += element.b.payload.eq(top)
        for above, below in pairwise(rows):
            for upper, lower in zip(above, below, strict=True):
                connect(m, upper.next_b, lower.b)
                connect(m, lower.o, upper.below)

        self.deskew(m, Cat(element.o.payload for element in rows[0]))
        m.d.comb += [
            self.in_flight.eq(self.carry_target(m) | self.count_open(m)),
            self.busy.eq(self.in_flight),
        ]
        return m

    def carry_target(self, m: Module):
        """Drive the targets of a tile's rows; return whether one is in flight."""
        m.submodules.row_targets = row_targets = RowTargets(self.config)
        valid_line, target = self.delayed_target(
            m,
            self.step.payload,
            self.step.valid & self.step.payload.last,
            output_stationary_latency(self.config),
        )
        finished: Any = ResponseSignature(accumulator_target(self.config)).create()
        connect(m, finished, row_targets.i)
        connect(m, row_targets.o, flipped(self.target))
        m.d.comb += [finished.valid.eq(valid_line[-1]), finished.payload.eq(target)]
        return valid_line.any() | row_targets.waiting

    def count_open(self, m: Module):
        """Return whether a tile has begun and not ended: its sums need a running clock."""
        begun = Signal(range(self.config.element_latency + 1))
        with m.If(self.step.valid):
            m.d.sync += begun.eq(begun + self.step.payload.first - self.step.payload.last)
        return begun != 0

    def edge(self, m: Module, name: str, elements: Value, neutral: int):
        """Return `elements` unpacked and skewed by a cycle each; `neutral` if there is no step."""
        form = self.config.operand_format
        lanes = len(elements) // form.width
        held = Signal(len(elements), reset_less=True, name=f"{name}_held")
        m.d.sync += held.eq(
            Mux(self.step.valid, elements, Const(neutral, form.width).replicate(lanes))
        )
        skew = SkewConfig(lanes=lanes, width=form.width)
        return self.unpacked(m, name, skewed(m, held, skew, f"skew_{name}"))

    def left_edge(self, m: Module):
        """Return the word that enters each row of the array."""
        config = self.config
        form, latency = config.operand_format, config.element_latency
        # -0 * +0 leaves a sum unchanged; +0 * +0 would change -0.
        neutral = 1 << (form.width - 1) if isinstance(form, FloatFormat) else 0
        unpacked = self.edge(m, "a", self.step.payload.a.as_value(), neutral)
        firsts = Signal(config.rows, reset_less=True)
        lasts = Signal(config.rows + latency, reset_less=True)
        m.d.sync += [
            firsts.eq(Cat(self.step.valid & self.step.payload.first, firsts)),
            lasts.eq(Cat(self.step.valid & self.step.payload.last, lasts)),
        ]
        words = []
        for row, a in enumerate(unpacked):
            layout = output_stationary_word(multiply_add_config(config))
            word = Signal(layout, reset_less=True, name=f"word_{row}")
            m.d.sync += [
                word.a.eq(a),
                word.first.eq(firsts[row]),
                word.unload.eq(lasts[row + latency]),
            ]
            words.append(word)
        return words

    def top_edge(self, m: Module):
        """Return the element of B that enters each column of the array."""
        return self.registered(m, "b", self.edge(m, "b", self.step.payload.b.as_value(), 0))
