"""Output-stationary mesh: operands stream from two sides, sums stay until they are complete."""

from itertools import pairwise

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import SystolicConfig
from ...config.formats import FloatFormat
from ...emit.component import Component
from ..accumulator.accumulator import accumulator_target
from .mesh import Mesh
from .output_stationary import output_stationary_latency
from .processing_element import (
    OutputStationaryProcessingElement,
    multiply_add_config,
    output_slots,
    output_stationary_word,
)
from .skew import Skew, SkewConfig

__all__ = ["OutputStationaryMesh", "RowTargets"]


class RowTargets(Component):
    """Destinations of the rows of finished tiles: row r ``r * slots`` cycles after the tile.

    Up to `slots` tiles are in flight, interleaved. Row 0 is combinational from `i`.

    Parameters
    ----------
    config : SystolicConfig

    Members
    -------
    i : In(accumulator_target(config))
        Destination of row 0; the other rows follow it.
    valid : In(1)
        A tile is finished. Not in a cycle with a row of an earlier tile.
    o : Out(accumulator_target(config))
    o_valid : Out(1)
    waiting : Out(1)
        A row is still to come. From registers.

    """

    def __init__(self, config: SystolicConfig):
        self.config = config
        super().__init__({
            "i": In(accumulator_target(config)),
            "valid": In(1),
            "o": Out(accumulator_target(config)),
            "o_valid": Out(1),
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
            rows.eq(Mux(self.valid, self.config.rows, due.rows)),
            self.o_valid.eq(rows != 0),
            self.o.eq(Mux(self.valid, self.i.as_value(), due.target.as_value())),
            self.waiting.eq(Cat(entry.rows for entry in ring).any()),
        ]
        m.d.sync += [
            following.target.address.eq(self.o.address + 1),
            following.target.accumulate.eq(self.o.accumulate),
            following.rows.eq(Mux(self.o_valid, rows - 1, 0)),
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
    step : In(array_step(config))
    step_valid : In(1)
    target, target_valid, sums, in_flight, busy
        As in `Mesh`; `in_flight` also from the first step of a tile on.

    """

    def elaborate(self, platform):
        m = Module()
        config = self.config
        element_config = multiply_add_config(config)
        words, b = self.left_edge(m), self.top_edge(m)
        width = config.accumulator_format.width

        leaving: list[Value] = [Const(0, width)] * config.columns
        elements = {}
        for row, word in enumerate(words):
            for column in range(config.columns):
                element = OutputStationaryProcessingElement(element_config)
                m.submodules[f"pe_{row}_{column}"] = elements[row, column] = element
                m.d.comb += [element.word.eq(word), element.b.eq(b[column])]
                word, b[column] = element.next_word, element.next_b
        for row in reversed(range(config.rows)):
            for column in range(config.columns):
                m.d.comb += elements[row, column].below.eq(leaving[column])
                leaving[column] = elements[row, column].o

        self.deskew(m, Cat(leaving))
        m.d.comb += [
            self.in_flight.eq(self.carry_target(m) | self.count_open(m)),
            self.busy.eq(self.in_flight),
        ]
        return m

    def carry_target(self, m):
        """Drive the targets of a tile's rows; return whether one is in flight."""
        m.submodules.row_targets = row_targets = RowTargets(self.config)
        valid_line, target = self.delayed_target(
            m,
            self.step,
            self.step_valid & self.step.last,
            output_stationary_latency(self.config),
        )
        m.d.comb += [
            row_targets.valid.eq(valid_line[-1]),
            row_targets.i.eq(target),
            self.target.eq(row_targets.o),
            self.target_valid.eq(row_targets.o_valid),
        ]
        return valid_line.any() | row_targets.waiting

    def count_open(self, m):
        """Return whether a tile has begun and not ended: its sums need a running clock."""
        begun = Signal(range(self.config.element_latency + 1))
        with m.If(self.step_valid):
            m.d.sync += begun.eq(begun + self.step.first - self.step.last)
        return begun != 0

    def edge(self, m, name, elements, neutral):
        """Return `elements` unpacked and skewed by a cycle each; `neutral` if there is no step."""
        form = self.config.operand_format
        lanes = len(elements) // form.width
        held = Signal(len(elements), reset_less=True, name=f"{name}_held")
        m.d.sync += held.eq(
            Mux(self.step_valid, elements, Const(neutral, form.width).replicate(lanes))
        )
        m.submodules[f"skew_{name}"] = skew = Skew(SkewConfig(lanes=lanes, width=form.width))
        m.d.comb += skew.i.eq(held)
        return self.unpacked(m, name, skew.o)

    def left_edge(self, m):
        """Return the word that enters each row of the array."""
        config = self.config
        form, latency = config.operand_format, config.element_latency
        # -0 * +0 leaves a sum unchanged; +0 * +0 would change -0.
        neutral = 1 << (form.width - 1) if isinstance(form, FloatFormat) else 0
        unpacked = self.edge(m, "a", self.step.a.as_value(), neutral)
        firsts = Signal(config.rows, reset_less=True)
        lasts = Signal(config.rows + latency, reset_less=True)
        m.d.sync += [
            firsts.eq(Cat(self.step_valid & self.step.first, firsts)),
            lasts.eq(Cat(self.step_valid & self.step.last, lasts)),
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

    def top_edge(self, m):
        """Return the element of B that enters each column of the array."""
        return self.registered(m, "b", self.edge(m, "b", self.step.b.as_value(), 0))
