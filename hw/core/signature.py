"""Ports of a core."""

from typing import Any

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..config import CoreBlockConfig
from ..lib.interfaces.core_memory import (
    data_request_layout,
    data_response_layout,
    fetch_request_layout,
    fetch_response_layout,
)
from ..lib.interfaces.memory_fault import memory_fault_layout
from ..lib.interfaces.shared_memory import WideReadSignature
from ..lib.streams import ResponseSignature
from ..styles.registry import tensor_style_of
from .clock_control import SleepSignature
from .control.barrier import ClusterBarrierSignature
from .control.faults import fault_layout
from .control.wait_table import progress_ports
from .launch import core_shape, launch_ports
from .observation import ObservationSignature

__all__ = ["core_members"]


def core_members(config: CoreBlockConfig) -> dict[str, Any]:
    """Return the members of a `Core`.

    Raise `ValueError` unless shared memory is described for a tensor unit that reads it, and only
    then.
    """
    core = config.core
    tensor = {}
    if core.tensor is not None:
        tensor["tensor_events"] = Out(tensor_style_of(core.tensor).events)
    if bool(core.tensor_reads) != (config.shared is not None):
        raise ValueError(
            "shared must describe shared memory with a tensor unit that reads it only, not be "
            f"{config.shared} with {core.tensor}"
        )
    if config.shared is not None:
        for port, size in core.tensor_reads.items():
            tensor[port] = Out(WideReadSignature(config.shared, size))
    return {
        **tensor,
        "number": In(core_shape(config.cores)),
        **launch_ports(config),
        **progress_ports(config),
        "start": In(1),
        "fetch": Out(stream.Signature(fetch_request_layout(core))),
        "fetched": In(ResponseSignature(fetch_response_layout(core))),
        "request": Out(stream.Signature(data_request_layout(core))),
        "response": In(ResponseSignature(data_response_layout(core))),
        "barrier": Out(ClusterBarrierSignature(config.barriers, config.cores)),
        "command": Out(stream.Signature(32)),
        "invalidate": Out(1),
        "invalidate_data": Out(1),
        "fault": Out(ResponseSignature(fault_layout(core))),
        "memory_fault": Out(ResponseSignature(memory_fault_layout(core))),
        "observed": Out(ObservationSignature(core)),
        "exit_code": Out(32),
        "active": Out(core.warps),
        "sleep": Out(SleepSignature()),
        "busy": Out(1),
        "runs": Out(1),
    }
