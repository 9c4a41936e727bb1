"""Integer unit: sums, comparisons, shifts, products, branches, jumps, votes and shuffles."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....config import PipelineConfig
from ....emit.shared_block import SharedBlock
from ....lib.interfaces.execution_unit import operation_layout, result_layout
from ....lib.streams import ResponseSignature
from ...layouts import branch_layout
from ..writeback_slots import WritebackSlots
from .branch import Branch
from .integer_beats import slots_config
from .integer_lanes import IntegerLanes
from .integer_operands import IntegerOperands
from .integer_products import IntegerProducts
from .integer_results import IntegerResults

__all__ = ["IntegerUnit"]


class IntegerUnit(SharedBlock):
    """Integer unit: executes `IntegerOperation`.

    A warp takes ``threads / lanes`` beats and is accepted from `i` with the last. Its result is
    offered one cycle later, a product `config.multiply_latency` cycles later. On a conflict the
    later instruction waits; other results can overtake products. One beat is accepted per cycle,
    until `o` stalls two results. `i.ready` does not depend on `o.ready` combinationally.

    The outcome of a branch or jump is valid on `branch` one cycle after the instruction is
    accepted, independent of `o`. Branches and jumps also have a result; that of a jump is the
    return address.

    Votes and shuffles, with `config.warp_operations`, take the beats and the latency of sums: each
    beat reads the operands of the whole warp, which wait at `i` until the last one.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
    o : Out(stream.Signature(result_layout(config)))
    branch : Out(ResponseSignature(branch_layout(config)))

    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
            "branch": Out(ResponseSignature(branch_layout(config))),
        })

    def build(self, platform):
        m = Module()
        m.submodules.operands = operands = IntegerOperands(self.config)
        m.submodules.lanes = lanes = IntegerLanes(self.config)
        m.submodules.products = products = IntegerProducts(self.config)
        m.submodules.slots = slots = WritebackSlots(slots_config(self.config))
        m.submodules.results = results = IntegerResults(self.config)
        m.submodules.branch = branch = Branch(self.config)
        connect(m, flipped(self.i), operands.i)
        connect(m, operands.o, lanes.i)
        for factors, multiplied in zip(lanes.factors, products.factors, strict=True):
            connect(m, factors, multiplied)
        connect(m, lanes.o, slots.i)
        connect(m, slots.late, products.result)
        connect(m, slots.o, results.i)
        connect(m, results.o, flipped(self.o))
        connect(m, lanes.decision, branch.i)
        connect(m, branch.o, flipped(self.branch))
        return m
