"""Signatures between the operand collectors, the hazard matrix and dispatch."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...lib.interfaces.core_memory import warp_shape
from ...lib.interfaces.execution_unit import operation_layout

__all__ = [
    "AllocationSignature",
    "CollectedSignature",
    "HazardOrderSignature",
    "HeldInstructionSignature",
]


class AllocationSignature(wiring.Signature):
    """Collector that is allocated to the instruction of an issue slot.

    Members
    -------
    collectors : Out(collectors)
        Allocated in this cycle, one-hot; 0 if no instruction is accepted.
    warp : Out(warp_shape(config)), port : Out(len(config.ports))
        Of the instruction; `port` is one-hot.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "collectors": Out(config.collectors),
            "warp": Out(warp_shape(config)),
            "port": Out(len(config.ports)),
        })


class HeldInstructionSignature(wiring.Signature):
    """Instruction in a collector.

    Members
    -------
    occupied : Out(1)
        There is one.
    gathers : Out(1)
        Some of its operands will be missing from its operation in the next cycle.
    warp : Out(warp_shape(config)), port : Out(len(config.ports))
        `port` is one-hot.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "occupied": Out(1),
            "gathers": Out(1),
            "warp": Out(warp_shape(config)),
            "port": Out(len(config.ports)),
        })


class CollectedSignature(wiring.Signature):
    """Operation of a collector, from its operands' arrival until it leaves.

    Members
    -------
    complete : Out(1)
        None of its operands will be missing from `operation` in the next cycle.
    operation : Out(operation_layout(config))
        With operands from the cycle after `complete` on.
    leaves : In(1)
        The operation is accepted in this cycle.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "complete": Out(1),
            "operation": Out(operation_layout(config)),
            "leaves": In(1),
        })


class HazardOrderSignature(wiring.Signature):
    """Order of the instructions in the collectors.

    Members
    -------
    first : Out(collectors)
        After this cycle, no older instruction of its warp gathers operands.
    rivals : Out(collectors).array(collectors)
        Collectors with older instructions for the same port.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "first": Out(config.collectors),
            "rivals": Out(config.collectors).array(config.collectors),
        })
