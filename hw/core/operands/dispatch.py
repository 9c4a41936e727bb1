"""Dispatch from collectors to ports: the oldest instruction with all operands goes first."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...isa.operations import Port
from ...lib.age_matrix import oldest
from ...lib.interfaces.execution_unit import OPERANDS, operation_layout
from ...lib.one_hot import select
from .collector_signatures import CollectedSignature, HazardOrderSignature, HeldInstructionSignature

__all__ = ["Dispatch"]


class Dispatch(Component):
    """Dispatch: selects the oldest ready instruction of each port and offers it until accepted.

    Selection is registered: an instruction with complete operands in the next cycle is offered in
    the next cycle. Each port selects in parallel, up to one instruction per cycle without gaps; a
    selection is stable while the port stalls.

    Parameters
    ----------
    config : PipelineConfig
        Its `collectors`.

    Members
    -------
    held : In(HeldInstructionSignature(config)).array(collectors)
    order : In(HazardOrderSignature(config))
    collected : In(CollectedSignature(config)).array(collectors)
    operation : Out(stream.Signature(operation_layout(config))).array(len(config.ports))
        To the units, indexed by `Port`.
    leaves : Out(collectors)
        The collector's instruction is accepted in this cycle.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        collectors = config.collectors
        super().__init__({
            "held": In(HeldInstructionSignature(config)).array(collectors),
            "order": In(HazardOrderSignature(config)),
            "collected": In(CollectedSignature(config)).array(collectors),
            "operation": Out(stream.Signature(operation_layout(config))).array(len(config.ports)),
            "leaves": Out(collectors),
        })

    def elaborate(self, platform):
        m = Module()
        collectors = self.config.collectors
        ready, first = Signal(collectors), Signal(collectors)
        offered, leaving = C(0, collectors), C(0, collectors)
        for port, operation in enumerate(self.operation):
            chosen = Signal(collectors, name=f"chosen_{Port(port).name.lower()}")
            accepted = operation.ready.replicate(collectors)
            bound = Cat(held.port[port] for held in self.held)
            # Operands are the last field of the layout.
            absent = 32 * self.config.threads * (OPERANDS - self.config.operands(Port(port)))
            operations = [Value.cast(one.operation) for one in self.collected]
            operations = [one[: len(one) - absent] for one in operations]
            m.d.comb += [
                operation.valid.eq(chosen.any()),
                Value.cast(operation.payload).eq(select(chosen, operations)),
            ]
            with m.If(operation.ready | ~operation.valid):
                m.d.sync += chosen.eq(first & bound)
            offered, leaving = offered | chosen, leaving | (chosen & accepted)
        complete = Cat(one.complete for one in self.collected)
        m.d.comb += [
            ready.eq(complete & self.order.first & ~offered),
            *(one.leaves.eq(leaving[number]) for number, one in enumerate(self.collected)),
            self.leaves.eq(leaving),
            first.eq(oldest(ready, self.order.rivals)),
        ]
        return m
