"""One operation on the state of a transaction barrier."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import connect

from ...emit.component import Component
from ...isa.transaction_barrier import (
    BARRIER_LAYOUT,
    BARRIER_MARK,
    BarrierFault,
    BarrierOperation,
)
from ...lib.prefix_add import PrefixAdd, PrefixAddConfig
from .layouts import BarrierUpdateSignature

__all__ = ["BarrierUpdate"]

COUNT_WIDTH = 20


class BarrierUpdate(Component):
    """Operation on a transaction barrier. Combinational.

    Bit-exact with the golden model, `sim.golden.memory.barrier.transaction_barrier`. After a fault,
    or an operation that only tests, `writes` is 0 and the barrier stays as it is.

    Members are those of `BarrierUpdateSignature`, seen from the other side.
    """

    def __init__(self):
        super().__init__(BarrierUpdateSignature().flip())

    def elaborate(self, platform):
        m = Module()
        state, operand = data.View(BARRIER_LAYOUT, self.word), self.operand
        self.decode(m)
        count = operand[:COUNT_WIDTH]
        arrivals, amount = Signal(COUNT_WIDTH), Signal(COUNT_WIDTH)
        m.d.comb += [
            amount.eq(Mux(self.uses_bytes, count, 0)),
            arrivals.eq(Mux(self.uses_bytes, self.arrives, Mux(self.arrives, count, 0))),
        ]
        # A bit more than the values have, for their limits. a - b is ~(~a + b).
        inverts = self.subtracts.replicate(COUNT_WIDTH + 2)
        wide = Signal(COUNT_WIDTH + 2)
        dropped = Mux(self.drops, arrivals, 0)
        is_balanced = Signal()
        m.d.comb += [wide.eq(state.bytes), is_balanced.eq(self.balances(wide, amount))]
        difference = self.sum_of(m, "bytes", wide ^ inverts, amount) ^ inverts
        pending = ~self.sum_of(m, "pending", ~Cat(state.pending, Const(0, 1)), arrivals)
        expected = ~self.sum_of(m, "expected", ~state.expected, dropped)
        is_complete = Signal()
        m.d.comb += is_complete.eq((state.pending == arrivals) & is_balanced)
        self.check(m, state, difference, pending, arrivals)

        changed, new = Signal(BARRIER_LAYOUT), Signal(BARRIER_LAYOUT)
        m.d.comb += [
            changed.mark.eq(BARRIER_MARK),
            changed.bytes.eq(difference),
            changed.expected.eq(expected),
            changed.pending.eq(Mux(is_complete, expected, pending)),
            changed.parity.eq(state.parity ^ is_complete),
            new.eq(changed),
        ]
        with m.Switch(self.operation):
            with m.Case(BarrierOperation.INIT):
                m.d.comb += [new.bytes.eq(0), new.parity.eq(0)]
                m.d.comb += [new.pending.eq(count), new.expected.eq(count)]
            with m.Case(BarrierOperation.INVAL):
                m.d.comb += new.eq(0)
        is_legal = self.fault == BarrierFault.NONE
        result = Mux(self.waits, state.parity ^ operand[0], self.arrives & state.parity)
        m.d.comb += [
            self.new_word.eq(new),
            self.writes.eq(is_legal & ~self.waits),
            self.result.eq(is_legal & result),
            self.completes.eq(is_legal & is_complete & (self.arrives | self.uses_bytes)),
        ]
        return m

    def decode(self, m: Module):
        """Drive the kinds of the operation."""
        kinds = {
            "arrives": ("ARRIVE", "ARRIVE_DROP", "ARRIVE_EXPECT_TX", "ARRIVE_DROP_EXPECT_TX"),
            "drops": ("ARRIVE_DROP", "ARRIVE_DROP_EXPECT_TX"),
            "uses_bytes": ("ARRIVE_EXPECT_TX", "ARRIVE_DROP_EXPECT_TX", "EXPECT_TX", "COMPLETE_TX"),
            "subtracts": ("COMPLETE_TX",),
            "counts": ("INIT", "ARRIVE", "ARRIVE_DROP"),
            "waits": ("TEST_WAIT", "TRY_WAIT", "WAIT"),
        }
        for kind, names in kinds.items():
            signal = Signal(name=kind)
            setattr(self, kind, signal)
            m.d.comb += signal.eq(self.operation.matches(*(BarrierOperation[n] for n in names)))

    def sum_of(self, m: Module, name: str, a: Value, b: Value) -> Value:
        """Return a sum as wide as `a`."""
        m.submodules[f"add_{name}"] = adder = PrefixAdd(PrefixAddConfig(width=len(a)))
        ports: Any = adder.signature.flip().create(path=(f"add_{name}",))
        connect(m, ports, adder)
        m.d.comb += [ports.a.eq(a), ports.b.eq(b)]
        return ports.o

    def balances(self, difference: Value, amount: Value) -> Value:
        """Return whether the bytes are 0 after the operation, without the carry of their sum.

        a + b is 0 if a ^ b is twice a | b, as a + b = 2 (a | b) - (a ^ b).
        """
        doubled = ((difference | amount) << 1)[: len(difference)]
        return Mux(self.subtracts, difference == amount, (difference ^ amount) == doubled)

    def check(
        self, m: Module, state: data.View, difference: Value, pending: Value, arrivals: Value
    ):
        """Drive the fault, of several the first one."""
        operand = self.operand
        is_large, is_one = operand[COUNT_WIDTH:].any(), operand[1:].any()
        low, top, sign = difference[:COUNT_WIDTH], difference[COUNT_WIDTH], difference[-1]
        faults = {
            BarrierFault.NO_BARRIER: (state.mark != BARRIER_MARK)
            & (self.operation != BarrierOperation.INIT),
            BarrierFault.COUNT: self.counts & (is_large | ~operand.any()),
            BarrierFault.PARITY: self.waits & is_one,
            BarrierFault.BYTES: self.uses_bytes & (is_large | (top ^ sign) | (sign & ~low.any())),
            BarrierFault.ARRIVALS: self.arrives & pending[-1],
            BarrierFault.DROPS: self.drops & (state.expected == arrivals),
        }
        for fault, condition in reversed(faults.items()):
            with m.If(condition):
                m.d.comb += self.fault.eq(fault)
