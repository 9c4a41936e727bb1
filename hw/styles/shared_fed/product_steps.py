"""Steps of the matrix products: their order, their dot products, and their accesses to C."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ...arith.dot_product.config import DotProductConfig
from ...arith.dot_product.dot_product import DotProduct
from ...arith.dot_product.latency import dot_product_latency
from ...emit.component import Component
from .config import SharedFedConfig
from .layouts import event_layout, step_layout
from .signatures import BlockSignature, ComputeSignature, RowReadSignature, TileStepSignature

__all__ = ["ProductSteps", "step_latency"]

#: Cycles from a step to its operands at the dot products.
OPERANDS_LATENCY = 2


def step_latency(config: SharedFedConfig) -> int:
    """Return the cycles from a step to its row of C.

    Raises
    ------
    ValueError
        If a dot product takes so long that its result is not there when it is used again.
    """
    latency = dot_product_latency(DotProductConfig.of(config))
    if OPERANDS_LATENCY + latency >= config.side:
        raise ValueError(
            f"a dot product must take at most {config.side - OPERANDS_LATENCY - 1} "
            f"cycles, not {latency}"
        )
    return OPERANDS_LATENCY + latency


class ProductSteps(Component):
    """Steps of the matrix products, one per cycle while C, A and B are there.

    Parameters
    ----------
    config : SharedFedConfig

    Members
    -------
    compute : In(ComputeSignature(config))
    block : In(BlockSignature(config))
        B.
    row : Out(RowReadSignature(config))
        A.
    tile : Out(TileStepSignature(config))
        C.
    events : Out(event_layout())
    """

    def __init__(self, config: SharedFedConfig):
        self.config = config
        self.latency = step_latency(config)
        super().__init__({
            "compute": In(ComputeSignature(config)),
            "block": In(BlockSignature(config)),
            "row": Out(RowReadSignature(config)),
            "tile": Out(TileStepSignature(config)),
            "events": Out(event_layout()),
        })

    def elaborate(self, platform):
        m = Module()
        valids, steps, tiles = self.sequence(m)
        m.d.comb += [
            self.row.read.eq(valids[0]),
            self.row.step.eq(steps[0]),
            self.row.selected.eq(steps[1]),
            self.tile.read.eq(Mux(valids[0], tiles[0], 0)),
            self.tile.read_row.eq(steps[0].row),
        ]
        self.multiply(m, steps[1])
        self.write(m, valids[-1], steps[-1], tiles[-1])
        return m

    def sequence(self, m: Module) -> tuple[list[Value], list[data.View], list[Value]]:
        """Start the steps; return valid, step and tile of each stage, from the start on."""
        compute, block = self.compute, self.block
        step, go = Signal(step_layout(self.config)), Signal()
        is_first, is_last = step.row == 0, Value.cast(step).all()
        m.d.comb += [
            go.eq(compute.computable & (~is_first | block.ready)),
            block.begin.eq(go & is_first),
            compute.computed.eq(go & is_last),
            self.row.free.eq(go & is_last),
            self.events.active.eq(go),
            self.events.operand_wait.eq(compute.computable & ~go),
            self.events.c_wait.eq(block.ready & ~compute.computable),
        ]
        with m.If(go):
            m.d.sync += Value.cast(step).eq(Value.cast(step) + 1)
        valids: list = [go]
        steps: list = [step]
        tiles: list = [compute.tile]
        for cycle in range(1, self.latency + 1):
            valid = Signal(name=f"valid_{cycle}")
            later = Signal(step.shape(), name=f"step_{cycle}", reset_less=True)
            tile = Signal(len(compute.tile), name=f"tile_{cycle}", reset_less=True)
            m.d.sync += [valid.eq(valids[-1]), later.eq(steps[-1]), tile.eq(tiles[-1])]
            valids.append(valid)
            steps.append(later)
            tiles.append(tile)
        return valids, steps, tiles

    def multiply(self, m: Module, step: data.View):
        """Add the dot products of the row of A to the numbers of C of a step."""
        units, dots = self.config.dot_products, DotProductConfig.of(self.config)
        addends = Signal(32 * units, reset_less=True)
        m.d.sync += addends.eq(Value.cast(self.tile.row).word_select(step.group, 32 * units))
        for unit in range(units):
            m.submodules[f"dot_product_{unit}"] = dot_product = DotProduct(dots)
            dot: Any = dot_product.signature.flip().create(path=(f"dot_{unit}",))
            connect(m, dot, dot_product)
            columns = range(unit, self.config.side, units)
            m.d.comb += [
                dot.a.eq(self.row.row),
                dot.b.eq(self.block.columns[unit]),
                dot.c.eq(addends.word_select(unit, 32)),
                *(self.tile.written[column].eq(dot.o) for column in columns),
            ]

    def write(self, m: Module, valid: Value, step: data.View, tile: Value):
        """Write the row of C of a finished step."""
        units, groups = self.config.dot_products, self.config.column_groups
        m.d.comb += [
            self.tile.write.eq(Mux(valid, tile, 0)),
            self.tile.write_row.eq(step.row),
            self.tile.mask.eq(
                Cat((step.group == group).replicate(units) for group in range(groups))
            ),
            self.compute.complete.eq(Mux(valid & Value.cast(step).all(), tile, 0)),
        ]
