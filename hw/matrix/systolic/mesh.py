"""Weight-stationary mesh: processing elements, and the edges that skew and unpack operands."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...arith.float.multiply_add import MultiplyAddConfig
from ...arith.float.unpack import Unpack, UnpackConfig, operand_layout
from ...config import SystolicConfig
from ..accumulator.accumulator import STORED_LATENCY, accumulator_target
from .processing_element import WeightStationaryProcessingElement, weight_stationary_word
from .skew import Skew, SkewConfig

__all__ = [
    "WeightStationaryMesh",
    "array_row",
    "array_weights",
    "multiply_add_config",
    "weight_stationary_latency",
]


def array_row(config: SystolicConfig) -> data.StructLayout:
    """Layout of a row of A: stored operands, with the sums' accumulator row `address`.

    `accumulate` adds the sums to that row; `swap` activates the weights loaded last, from this
    row on.
    """
    return data.StructLayout({
        "a": data.ArrayLayout(config.operand_format.width, config.rows),
        "swap": 1,
        "address": config.accumulator_address_width,
        "accumulate": 1,
    })


def array_weights(config: SystolicConfig) -> data.StructLayout:
    """Layout of a row of weights: stored operands for array row `row`."""
    return data.StructLayout({
        "b": data.ArrayLayout(config.operand_format.width, config.columns),
        "row": ceil_log2(config.rows),
    })


def multiply_add_config(config: SystolicConfig) -> MultiplyAddConfig:
    """Return the config of one element's multiply-add."""
    return MultiplyAddConfig(
        operand=config.operand_format.name,
        accumulator=config.accumulator_format.name,
        latency=config.element_latency,
    )


def weight_stationary_latency(config: SystolicConfig) -> int:
    """Return the cycles from the offer of a row of A to its sums."""
    return 4 + config.rows * config.element_latency + config.columns - 1


class WeightStationaryMesh(wiring.Component):
    """Weight-stationary mesh: ``sums[j] = fma chain of a[r] * b[r][j]`` per row of A.

    The chain begins at +0 in array row 0 and ends in the last. A row of A offered in cycle t has
    all its sums in cycle ``t + weight_stationary_latency(config)``, and its target
    `STORED_LATENCY` cycles earlier; one row of A and one of weights per cycle, no back-pressure.
    Array row r receives a row of A ``r * element_latency`` cycles after array row 0. Weight row r
    may therefore be offered only if more than that many cycles have passed since the row of A with
    the last `swap`. It must be offered no later than that many cycles after the row of A whose
    `swap` activates it::

        cycle                    t         t + 1   t + 2   t + 3   t + 4
        a, swap offered          x
        swap in element (0, 0)                             x
        a in element (0, 0)                                        x
        weight row 0 offered     w, latest
        load in element (0, 0)                     w

    Parameters
    ----------
    config : SystolicConfig

    Members
    -------
    row : In(array_row(config))
    row_valid : In(1)
    weights : In(array_weights(config))
    weights_valid : In(1)
    target : Out(accumulator_target(config))
        Destination of the sums that follow in `STORED_LATENCY` cycles.
    target_valid : Out(1)
    sums : Out(columns * accumulator width)
    in_flight : Out(1)
        A row has not reached `target`, or weights not their column. From registers.

    """

    row: data.View
    row_valid: Signal
    weights: data.View
    weights_valid: Signal
    target: data.View
    target_valid: Signal
    sums: Signal
    in_flight: Signal

    def __init__(self, config: SystolicConfig):
        self.config = config
        super().__init__({
            "row": In(array_row(config)),
            "row_valid": In(1),
            "weights": In(array_weights(config)),
            "weights_valid": In(1),
            "target": Out(accumulator_target(config)),
            "target_valid": Out(1),
            "sums": Out(config.columns * config.accumulator_format.width),
            "in_flight": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        words = self.left_edge(m)
        weights, loading = self.top_edge(m)

        width = config.accumulator_format.width
        sums: list[Value] = [Const(0, width)] * config.columns
        for row, word in enumerate(words):
            for column in range(config.columns):
                element = WeightStationaryProcessingElement(multiply_add_config(config))
                m.submodules[f"pe_{row}_{column}"] = element
                m.d.comb += [
                    element.word.eq(word),
                    element.weight.eq(weights[column]),
                    element.c.eq(sums[column]),
                ]
                word = element.next_word
                sums[column] = element.o

        m.submodules.deskew = deskew = Skew(
            SkewConfig(lanes=config.columns, width=width, falling=True)
        )
        m.d.comb += [deskew.i.eq(Cat(sums)), self.sums.eq(deskew.o)]
        on_the_way = self.carry_target(m)
        m.d.comb += self.in_flight.eq(on_the_way | loading)
        return m

    def carry_target(self, m):
        """Delay the destination until shortly before its sums; return whether one is in flight."""
        cycles = weight_stationary_latency(self.config) - STORED_LATENCY
        layout = accumulator_target(self.config)
        width = Shape.cast(layout).width
        offered = Signal(layout)
        valid_line = Signal(cycles)
        target_line = Signal(cycles * width, reset_less=True)
        m.d.comb += [
            offered.address.eq(self.row.address),
            offered.accumulate.eq(self.row.accumulate),
            self.target_valid.eq(valid_line[-1]),
            self.target.eq(target_line[-width:]),
        ]
        m.d.sync += [
            valid_line.eq(Cat(self.row_valid, valid_line)),
            target_line.eq(Cat(offered, target_line)),
        ]
        return valid_line.any()

    def left_edge(self, m):
        """Return the word that enters each row of the array."""
        config = self.config
        width, step = config.operand_format.width, config.element_latency
        m.submodules.skew = skew = Skew(SkewConfig(lanes=config.rows, width=width, step=step))
        # A row enters two cycles after its swap, and a swap one cycle after a load.
        waiting = Signal(3 * config.rows * width, reset_less=True)
        swaps = Signal((config.rows - 1) * step + 2, reset_less=True)
        loads = Signal(config.rows, reset_less=True)
        m.d.sync += [
            waiting.eq(Cat(self.row.a, waiting)),
            swaps.eq(Cat(self.row_valid & self.row.swap, swaps)),
            loads.eq(Mux(self.weights_valid, 1 << self.weights.row, 0)),
        ]
        m.d.comb += skew.i.eq(waiting[-len(skew.i) :])

        words = []
        for row in range(config.rows):
            word = Signal(
                weight_stationary_word(multiply_add_config(config)),
                reset_less=True,
                name=f"word_{row}",
            )
            m.submodules[f"unpack_a_{row}"] = unpack = Unpack(
                UnpackConfig(form=config.operand_format)
            )
            m.d.comb += unpack.i.eq(skew.o.word_select(row, width))
            m.d.sync += [
                word.a.eq(unpack.o),
                word.swap.eq(swaps[row * step + 1]),
                word.load.eq(loads[row]),
            ]
            words.append(word)
        return words

    def top_edge(self, m):
        """Return the weight of each column, and whether any is in flight."""
        config = self.config
        width = config.operand_format.width
        m.submodules.skew_weights = skew = Skew(SkewConfig(lanes=config.columns, width=width))
        # Aligned with the load flag, which needs `columns` cycles to pass the last element.
        pending = Signal(config.columns + 1)
        offered = Signal(len(skew.i), reset_less=True)
        m.d.sync += [pending.eq(Cat(self.weights_valid, pending)), offered.eq(self.weights.b)]
        m.d.comb += skew.i.eq(offered)

        weights = []
        for column in range(config.columns):
            weight = Signal(
                operand_layout(config.operand_format), reset_less=True, name=f"weight_{column}"
            )
            m.submodules[f"unpack_b_{column}"] = unpack = Unpack(
                UnpackConfig(form=config.operand_format)
            )
            m.d.comb += unpack.i.eq(skew.o.word_select(column, width))
            m.d.sync += weight.eq(unpack.o)
            weights.append(weight)
        return weights, pending.any()
