"""Dot products of the steps, and the accumulators between the sets of a product."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ...arith.dot_product.config import DotProductConfig
from ...arith.dot_product.dot_product import DotProduct
from ...arith.dot_product.latency import dot_product_latency
from ...emit.component import Component
from ...lib.sram import MemoryPorts, Sram
from ...lib.streams import ResponseSignature
from .config import RegisterFedConfig
from .layouts import row_shape, step_layout
from .signatures import DotOperandsSignature, RegisterPartSignature

__all__ = ["FragmentProducts"]

#: Cycles from a step to its operands at the dot products.
OPERANDS_LATENCY = 2


class FragmentProducts(Component):
    """Dot products of the steps: added to C in the first set, then to the accumulators.

    Parameters
    ----------
    config : RegisterFedConfig

    Members
    -------
    step : In(ResponseSignature(step_layout(config)))
    selected : Out(step_layout(config))
        The step of the previous cycle.
    operands : In(DotOperandsSignature(config))
        Of the step two cycles ago.
    c : In(row_shape(threads))
        Register of C of that step.
    o : Out(RegisterPartSignature(threads))
        Results of the last set.
    """

    def __init__(self, config: RegisterFedConfig):
        self.config = config
        self.dot = DotProductConfig.of(config)
        super().__init__({
            "step": In(ResponseSignature(step_layout(config))),
            "selected": Out(step_layout(config)),
            "operands": In(DotOperandsSignature(config)),
            "c": In(row_shape(config.threads)),
            "o": Out(RegisterPartSignature(config.threads)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        steps, valids = self.follow(m)
        done, is_done = steps[-1], valids[-1]
        leaves = done.set == config.sets - 1
        parts = [
            is_done & (done.part == lane // config.dot_products) for lane in range(config.threads)
        ]
        addend = self.c
        if config.sets > 1:
            writes = Cat(parts) & (~leaves).replicate(config.threads)
            accumulated = self.accumulate(m, steps[1], valids[1], done.register, writes)
            addend = Mux(steps[2].set == 0, Value.cast(self.c), accumulated)
        units = config.dot_products
        m.d.comb += [
            self.selected.eq(steps[1]),
            self.o.part.eq(Cat(parts) & leaves.replicate(config.threads)),
            self.o.finish.eq(is_done & leaves & (done.part == config.parts - 1)),
        ]
        addends = Value.cast(addend).word_select(Value.cast(steps[2].part), 32 * units)
        for unit in range(units):
            m.submodules[f"dot_product_{unit}"] = dot_product = DotProduct(self.dot)
            dot: Any = dot_product.signature.flip().create(path=(f"dot_{unit}",))
            connect(m, dot, dot_product)
            m.d.comb += [
                dot.a.eq(self.operands.rows[unit]),
                dot.b.eq(self.operands.columns[unit]),
                dot.c.eq(addends.word_select(unit, 32)),
                *(self.o.values[lane].eq(dot.o) for lane in range(unit, config.threads, units)),
            ]
        return m

    def follow(self, m: Module) -> tuple[list[data.View], list[Value]]:
        """Return the step and its `valid` in each stage, from the start on."""
        steps, valids = [self.step.payload], [self.step.valid]
        for cycle in range(1, OPERANDS_LATENCY + dot_product_latency(self.dot) + 1):
            step = Signal(step_layout(self.config), name=f"step_{cycle}", reset_less=True)
            valid = Signal(name=f"valid_{cycle}")
            m.d.sync += [step.eq(steps[-1]), valid.eq(valids[-1])]
            steps.append(step)
            valids.append(valid)
        return steps, valids

    def accumulate(
        self, m: Module, step: data.View, valid: Value, register: Value, writes: Value
    ) -> Value:
        """Return the accumulator register of `step`, one cycle later; write results to another."""
        config = self.config
        m.submodules.accumulators = accumulators = Sram(
            depth=config.registers, width=32 * config.threads, granularity=32
        )
        memory = MemoryPorts(accumulators, "accumulators")
        connect(m, memory, accumulators)
        m.d.comb += [
            memory.read.valid.eq(valid & (step.part == 0) & (step.set != 0)),
            memory.read.payload.eq(step.register),
            memory.write.mask.eq(writes),
            memory.write.address.eq(register),
            memory.write.data.eq(self.o.values),
        ]
        return memory.data
