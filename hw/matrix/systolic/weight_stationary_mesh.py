"""Weight-stationary mesh: processing elements, and the edges that skew and unpack operands."""

from itertools import pairwise

from amaranth import *
from amaranth.lib.wiring import connect

from .mesh import Mesh
from .processing_element import multiply_add_config, weight_stationary_word
from .skew import SkewConfig, skewed
from .weight_stationary import weight_stationary_latency
from .weight_stationary_row import WeightStationaryRow, WeightStationaryRowConfig

__all__ = ["WeightStationaryMesh"]


class WeightStationaryMesh(Mesh):
    """Weight-stationary mesh: ``sums[j] = fma chain of a[r] * b[r][j]`` per row of A.

    The chain begins at +0 in array row 0 and ends in the last. A row of A offered in cycle t has
    all its sums in cycle ``t + weight_stationary_latency(config)``, and its target
    `addend_latency` cycles earlier; one row of A and one of weights per cycle, no back-pressure.
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
    row : In(ResponseSignature(array_row(config)))
    weights : In(ResponseSignature(array_weights(config)))
    target, sums, in_flight, busy
        As in `Mesh`.

    """

    def elaborate(self, platform):
        m = Module()
        config = self.config
        words = self.left_edge(m)
        weights, loading = self.top_edge(m)

        row_config = WeightStationaryRowConfig(config.columns, multiply_add_config(config))
        rows = [WeightStationaryRow(row_config) for _ in words]
        for number, (row, word) in enumerate(zip(rows, words, strict=True)):
            m.submodules[f"row_{number}"] = row
            m.d.comb += [row.word.payload.eq(word), row.weights.eq(Cat(weights))]
        for above, below in pairwise(rows):  # the sums of the first row begin at 0
            connect(m, above.o, below.c)

        self.deskew(m, rows[-1].o.payload)
        valid_line, target = self.delayed_target(
            m, self.row.payload, self.row.valid, weight_stationary_latency(config)
        )
        m.d.comb += [
            self.target.valid.eq(valid_line[-1]),
            self.target.payload.eq(target),
            self.in_flight.eq(valid_line.any()),
            self.busy.eq(self.in_flight | loading),
        ]
        return m

    def left_edge(self, m: Module):
        """Return the word that enters each row of the array."""
        config = self.config
        width, step = config.operand_format.width, config.element_latency
        skew = SkewConfig(lanes=config.rows, width=width, step=step)
        # A row enters two cycles after its swap, and a swap one cycle after a load.
        waiting = Signal(3 * config.rows * width, reset_less=True)
        swaps = Signal((config.rows - 1) * step + 2, reset_less=True)
        loads = Signal(config.rows, reset_less=True)
        m.d.sync += [
            waiting.eq(Cat(self.row.payload.a, waiting)),
            swaps.eq(Cat(self.row.valid & self.row.payload.swap, swaps)),
            loads.eq(Mux(self.weights.valid, 1 << self.weights.payload.row, 0)),
        ]
        a_skewed = skewed(m, waiting[-config.rows * width :], skew, "skew")

        words = []
        for row, a in enumerate(self.unpacked(m, "a", a_skewed)):
            word = Signal(
                weight_stationary_word(multiply_add_config(config)),
                reset_less=True,
                name=f"word_{row}",
            )
            m.d.sync += [
                word.a.eq(a),
                word.swap.eq(swaps[row * step + 1]),
                word.load.eq(loads[row]),
            ]
            words.append(word)
        return words

    def top_edge(self, m: Module):
        """Return the weight of each column, and whether any is in flight."""
        config = self.config
        width = config.operand_format.width
        skew = SkewConfig(lanes=config.columns, width=width)
        # Aligned with the load flag, which needs `columns` cycles to pass the last element.
        pending = Signal(config.columns + 1)
        offered = Signal(config.columns * width, reset_less=True)
        m.d.sync += [
            pending.eq(Cat(self.weights.valid, pending)),
            offered.eq(self.weights.payload.b),
        ]
        b_skewed = skewed(m, offered, skew, "skew_weights")
        weights = self.registered(m, "weight", self.unpacked(m, "b", b_skewed))
        return weights, pending.any()
