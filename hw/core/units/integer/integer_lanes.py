"""Integer lanes of a beat, without products, and the decoder that they share."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ....config import PipelineConfig
from ....emit.component import Component
from ....isa.operations import EXCHANGES, Port
from ....isa.operations import IntegerOperation as Op
from ....lib.streams import ResponseSignature
from .branch import decision_layout
from .exchange import Exchange
from .integer_beats import PASSED, operand_beats, slots_config
from .integer_lane import IntegerLane, LaneControlSignature
from .multiply_lane import FactorsSignature

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
    "is_exchange": set(EXCHANGES),
}


def properties(m: Module, operation: Value, *names: str) -> list[Signal]:
    """Return a signal for each named property of `operation`."""
    signals = [Signal(name=name) for name in names]
    for signal in signals:
        table = sum(1 << member.value for member in PROPERTIES[signal.name])
        m.d.comb += signal.eq(Const(table, 1 << len(operation)).bit_select(operation, 1))
    return signals


class IntegerLanes(Component):
    """Integer lanes: results of the threads of a beat, except products, and branch decisions.

    Combinational. Bitwise logic is one word for all lanes.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operand_beats(config).beat_layout))
    o : Out(stream.Signature(slots_config(config).layout))
        Products are late; their value here is undefined.
    factors : Out(FactorsSignature()).array(lanes)
    decision : Out(ResponseSignature(decision_layout(config)))
        Branches and jumps.

    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.lanes = config.lanes(Port.INT)
        super().__init__({
            "i": In(stream.Signature(operand_beats(config).beat_layout)),
            "o": Out(stream.Signature(slots_config(config).layout)),
            "factors": Out(FactorsSignature()).array(self.lanes),
            "decision": Out(ResponseSignature(decision_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        beat, common = self.i.payload, self.i.payload.common
        operation = Value.cast(common.operation)
        is_product, is_high, a_signed, b_signed = properties(
            m, operation, "is_product", "is_high", "a_signed", "b_signed"
        )
        sums, value, is_taken = self.compute(m, operation)
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready),
            self.o.payload.is_late.eq(is_product),
            Value.cast(self.o.payload.value).eq(value),
            self.o.payload.common.is_high.eq(is_high),
            *(self.o.payload.common[name].eq(common[name]) for name in PASSED),
        ]
        for lane, factors in enumerate(self.factors):
            m.d.comb += [
                factors.a.eq(beat.a[lane]),
                factors.b.eq(beat.b[lane]),
                factors.a_signed.eq(a_signed),
                factors.b_signed.eq(b_signed),
            ]
        self.decide(m, operation, sums, is_taken)
        return m

    def compute(self, m: Module, operation: Value) -> tuple[Value, Value, Value]:
        """Return the sums of all lanes, their results, and their branch decisions."""
        is_or, is_and, is_jump, is_shift, is_comparison, is_sum = properties(
            m, operation, "is_or", "is_and", "is_jump", "is_shift", "is_comparison", "is_sum"
        )
        tests_equal, is_inverted = properties(m, operation, "tests_equal", "is_inverted")
        results = self.compute_lanes(m, operation)
        sums, shifted = Cat(lane.sum for lane in results), Cat(lane.shifted for lane in results)
        less, equal = Cat(lane.less for lane in results), Cat(lane.equal for lane in results)
        a, b = Value.cast(self.i.payload.a), Value.cast(self.i.payload.b)
        value = a ^ b
        for chosen, result in (
            (is_or, a | b),
            (is_and, a & b),
            # A jump returns the address of the next instruction.
            (is_jump, self.i.payload.common.next.replicate(self.lanes)),
            (is_shift, shifted),
            *self.exchange(m, operation),
            # Results that arrive late in the cycle are selected last.
            (is_comparison, Cat(Cat(bit, C(0, 31)) for bit in less)),
            (is_sum, sums),
        ):
            value = Mux(chosen, result, value)
        holds = Mux(tests_equal, equal, less)
        return sums, value, holds ^ is_inverted.replicate(self.lanes)

    def exchange(self, m: Module, operation: Value) -> list[tuple[Value, Value]]:
        """Return whether the operation is a vote or a shuffle, and its results, if it can be."""
        if not self.config.warp_operations:
            return []
        m.submodules.exchange = exchange = Exchange(self.config)
        m.d.comb += exchange.i.eq(self.i.payload)
        (is_exchange,) = properties(m, operation, "is_exchange")
        return [(is_exchange, Value.cast(exchange.o))]

    def compute_lanes(self, m: Module, operation: Value) -> list[data.View]:
        """Return the results of each lane."""
        names = ("subtract", "is_signed", "shift_left", "shift_arithmetic")
        control = LaneControlSignature().create(path=("control",))
        m.d.comb += [
            getattr(control, name).eq(signal)
            for name, signal in zip(names, properties(m, operation, *names), strict=True)
        ]
        results = []
        for k in range(self.lanes):
            m.submodules[f"lane_{k}"] = lane = IntegerLane(32)
            connect(m, control, lane.control)
            m.d.comb += [lane.a.eq(self.i.payload.a[k]), lane.b.eq(self.i.payload.b[k])]
            results.append(lane.o)
        return results

    def decide(self, m: Module, operation: Value, sums: Value, is_taken: Value):
        """Drive the decisions of branches and jumps."""
        is_branch, is_jump, by_register = properties(
            m, operation, "is_branch", "is_jump", "by_register"
        )
        beat, decision = self.i.payload, self.decision.payload
        passed = ("warp", "mask", "pc", "relative", "next")
        m.d.comb += [
            self.decision.valid.eq(self.i.valid & self.i.ready & (is_branch | is_jump)),
            decision.place.eq(beat.place),
            decision.by_register.eq(by_register),
            decision.is_taken.eq(is_taken | is_jump.replicate(self.lanes)),
            Value.cast(decision.targets).eq(Mux(by_register, sums, 0)),
            *(decision[name].eq(beat.common[name]) for name in passed),
        ]
