"""Output-stationary mesh: operands stream from two sides, sums stay until they are complete."""

from itertools import pairwise

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...arith.float.unpack import Unpack, UnpackConfig, operand_layout
from ...config import SystolicConfig
from ...config.formats import FloatFormat
from ..accumulator.accumulator import STORED_LATENCY, accumulator_target
from .mesh import multiply_add_config
from .processing_element import (
    OutputStationaryProcessingElement,
    output_slots,
    output_stationary_word,
)
from .skew import Skew, SkewConfig

__all__ = ["OutputStationaryMesh", "RowTargets", "array_step", "output_stationary_latency"]


def array_step(config: SystolicConfig) -> data.StructLayout:
    """Layout of one step of an output tile: a column of A, a row of B, stored operands.

    `first` begins a tile and `last` ends it. The `last` step gives the destination of the sums:
    accumulator rows from `address` on, to which they are added with `accumulate`.
    """
    return data.StructLayout({
        "a": data.ArrayLayout(config.operand_format.width, config.rows),
        "b": data.ArrayLayout(config.operand_format.width, config.columns),
        "first": 1,
        "last": 1,
        "address": config.accumulator_address_width,
        "accumulate": 1,
    })


def output_stationary_latency(config: SystolicConfig) -> int:
    """Return the cycles from the offer of a tile's last step to the sums of its row 0."""
    latency = config.element_latency
    leaving = output_slots(multiply_add_config(config)) - 1
    return 2 + latency + leaving + config.columns - 1


class RowTargets(wiring.Component):
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

    i: data.View
    valid: Signal
    o: data.View
    o_valid: Signal
    waiting: Signal

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


class OutputStationaryMesh(wiring.Component):
    """Output-stationary mesh: adds the product of a column of A and a row of B per step.

    The numerics are `systolic_os`: per element one chain of multiply-adds over all steps of a
    tile, from +0. One step per cycle, no back-pressure. With L the multiply-add latency, the
    steps of one tile are offered in cycles congruent modulo L, in order of k. A cycle without a
    valid step leaves its tile unchanged. L tiles are thus interleaved, for instance L
    neighbouring column blocks of C, which share each column of A. A tile's row r has its sums
    ``output_stationary_latency(config) + r * slots`` cycles after its last step, with slots =
    max(2, L), and its target `STORED_LATENCY` cycles earlier. Two last steps at a distance
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
    target : Out(accumulator_target(config))
        Destination of the sums that follow in `STORED_LATENCY` cycles.
    target_valid : Out(1)
    sums : Out(columns * accumulator width)
    in_flight : Out(1)
        A tile has begun and not all its rows have reached `target`. From registers.

    """

    step: data.View
    step_valid: Signal
    target: data.View
    target_valid: Signal
    sums: Signal
    in_flight: Signal

    def __init__(self, config: SystolicConfig):
        self.config = config
        super().__init__({
            "step": In(array_step(config)),
            "step_valid": In(1),
            "target": Out(accumulator_target(config)),
            "target_valid": Out(1),
            "sums": Out(config.columns * config.accumulator_format.width),
            "in_flight": Out(1),
        })

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

        m.submodules.deskew = deskew = Skew(
            SkewConfig(lanes=config.columns, width=width, falling=True)
        )
        m.d.comb += [deskew.i.eq(Cat(leaving)), self.sums.eq(deskew.o)]
        m.d.comb += self.in_flight.eq(self.carry_target(m) | self.count_open(m))
        return m

    def carry_target(self, m):
        """Delay the destination until shortly before its sums; return whether one is in flight."""
        cycles = output_stationary_latency(self.config) - STORED_LATENCY
        layout = accumulator_target(self.config)
        width = Shape.cast(layout).width
        offered = Signal(layout)
        valid_line = Signal(cycles)
        target_line = Signal(cycles * width, reset_less=True)
        m.submodules.row_targets = row_targets = RowTargets(self.config)
        m.d.comb += [
            offered.address.eq(self.step.address),
            offered.accumulate.eq(self.step.accumulate),
            row_targets.valid.eq(valid_line[-1]),
            row_targets.i.eq(target_line[-width:]),
            self.target.eq(row_targets.o),
            self.target_valid.eq(row_targets.o_valid),
        ]
        m.d.sync += [
            valid_line.eq(Cat(self.step_valid & self.step.last, valid_line)),
            target_line.eq(Cat(offered, target_line)),
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
        unpacked = []
        for lane in range(lanes):
            m.submodules[f"unpack_{name}_{lane}"] = unpack = Unpack(UnpackConfig(form=form))
            m.d.comb += unpack.i.eq(skew.o.word_select(lane, form.width))
            unpacked.append(unpack.o)
        return unpacked

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
        b = []
        for column, unpacked in enumerate(self.edge(m, "b", self.step.b.as_value(), 0)):
            register = Signal(
                operand_layout(self.config.operand_format), reset_less=True, name=f"b_{column}"
            )
            m.d.sync += register.eq(unpacked)
            b.append(register)
        return b
