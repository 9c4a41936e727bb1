"""A core of a cluster as run control sees it."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out

from ..config import RunControlConfig
from ..core.control.faults import fault_layout
from ..lib.interfaces.memory_fault import memory_fault_layout
from ..lib.streams import ResponseSignature

__all__ = ["RunSignature"]


class RunSignature(wiring.Signature):
    """State, faults and output of a core, seen from its cluster.

    Members
    -------
    busy : Out(1)
        The core has not ended, also if it is asleep, or its memory unit is busy, or in reset.
    exit_code : Out(32)
    fault : Out(ResponseSignature(fault_layout(config)))
    memory_fault : Out(ResponseSignature(memory_fault_layout(config)))
    console : Out(stream.Signature(8))
    """

    def __init__(self, config: RunControlConfig):
        super().__init__({
            "busy": Out(1),
            "exit_code": Out(32),
            "fault": Out(ResponseSignature(fault_layout(config))),
            "memory_fault": Out(ResponseSignature(memory_fault_layout(config))),
            "console": Out(stream.Signature(8)),
        })
