"""Integer lanes of a beat, without products: the lanes and their common decoder."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ....config import PipelineConfig
from ....emit.component import Component
from ....isa.operations import IntegerOperation as Op
from ....isa.operations import Port
from .integer_lane import IntegerLane

__all__ = ["PROPERTIES", "IntegerLanes", "properties"]

#: Decoded properties of operations: for each property its operations.
PROPERTIES = {
    "is_and": {Op.AND},
    "is_or": {Op.OR},
    "is_shift": {Op.SLL, Op.SRL, Op.SRA},
    "shift_left": {Op.SLL},
    "shift_arithmetic": {Op.SRA},
    "is_sum": {Op.ADD, Op.SUB},
    "subtract": {Op.SUB, Op.SLT, Op.SLTU, Op.BLT, Op.BGE, Op.BLTU, Op.BGEU},
    "is_signed": {Op.SLT, Op.BLT, Op.BGE},
    "is_comparison": {Op.SLT, Op.SLTU},
    "is_product": {Op.MUL, Op.MULH, Op.MULHSU, Op.MULHU},
    "is_high": {Op.MULH, Op.MULHSU, Op.MULHU},
    "a_signed": {Op.MULH, Op.MULHSU},
    "b_signed": {Op.MULH},
    "is_branch": {Op.BEQ, Op.BNE, Op.BLT, Op.BGE, Op.BLTU, Op.BGEU},
    "tests_equal": {Op.BEQ, Op.BNE},
    "is_inverted": {Op.BNE, Op.BGE, Op.BGEU},
    "is_jump": {Op.JAL, Op.JALR},
    "by_register": {Op.JALR},
}


def properties(m: Module, operation, *names: str) -> list[Signal]:
    """Return a signal for each named property of `operation`."""
    signals = [Signal(name=name) for name in names]
    for signal in signals:
        table = sum(1 << member.value for member in PROPERTIES[signal.name])
        m.d.comb += signal.eq(Const(table, 1 << len(operation)).bit_select(operation, 1))
    return signals


class IntegerLanes(Component):
    """Integer lanes: results of the threads of a beat, except products.

    Combinational. Bitwise logic is one word for all lanes.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    operation : In(IntegerOperation)
    a, b : In(ArrayLayout(32, lanes))
    link : In(32)
        Result of jumps.
    value : Out(ArrayLayout(32, lanes))
    sums : Out(ArrayLayout(32, lanes))
        ``a + b``, also the target of jumps.
    is_taken : Out(lanes)
        Branch decisions.

    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.lanes = config.lanes(Port.INT)
        words = data.ArrayLayout(32, self.lanes)
        super().__init__({
            "operation": In(Op),
            "a": In(words),
            "b": In(words),
            "link": In(32),
            "value": Out(words),
            "sums": Out(words),
            "is_taken": Out(self.lanes),
        })

    def elaborate(self, platform):
        m = Module()
        operation = Value.cast(self.operation)
        is_or, is_and, is_jump, is_shift, is_comparison, is_sum = properties(
            m, operation, "is_or", "is_and", "is_jump", "is_shift", "is_comparison", "is_sum"
        )
        tests_equal, is_inverted = properties(m, operation, "tests_equal", "is_inverted")
        less, equal, shifted = self.compute(m, operation)
        a, b = Value.cast(self.a), Value.cast(self.b)
        value = a ^ b
        for chosen, result in (
            (is_or, a | b),
            (is_and, a & b),
            (is_jump, self.link.replicate(self.lanes)),
            (is_shift, shifted),
            # Results that arrive late in the cycle are selected last.
            (is_comparison, Cat(Cat(bit, C(0, 31)) for bit in less)),
            (is_sum, Value.cast(self.sums)),
        ):
            value = Mux(chosen, result, value)
        holds = Mux(tests_equal, equal, less)
        m.d.comb += [
            Value.cast(self.value).eq(value),
            self.is_taken.eq(holds ^ is_inverted.replicate(self.lanes)),
        ]
        return m

    def compute(self, m, operation) -> tuple[Value, Value, Value]:
        """Return the lanes' less, equal and shift results; drive the sums."""
        controls = ("subtract", "is_signed", "shift_left", "shift_arithmetic")
        signals = properties(m, operation, *controls)
        less, equal = Signal(self.lanes), Signal(self.lanes)
        shifted = Signal(data.ArrayLayout(32, self.lanes))
        for k in range(self.lanes):
            m.submodules[f"lane_{k}"] = lane = IntegerLane(32)
            for name, signal in zip(controls, signals, strict=True):
                m.d.comb += getattr(lane, name).eq(signal)
            m.d.comb += [
                lane.a.eq(self.a[k]),
                lane.b.eq(self.b[k]),
                self.sums[k].eq(lane.sum),
                less[k].eq(lane.less),
                equal[k].eq(lane.equal),
                shifted[k].eq(lane.shifted),
            ]
        return less, equal, Value.cast(shifted)
