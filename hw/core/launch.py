"""Numbers of cores, and the launch of a core in a machine of several clusters."""

from typing import Any

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..config import CoreBlockConfig

__all__ = ["LaunchSignature", "core_shape", "launch_ports"]


def core_shape(cores: int) -> int:
    """Return the bits of a core's number, at least one."""
    return max(1, ceil_log2(cores))


class LaunchSignature(wiring.Signature):
    """Place of a core in its machine, and its program; constant from its start on.

    Members
    -------
    cluster : Out(core_shape(clusters))
    core : Out(core_shape(clusters * cores))
        Index of the core in the machine.
    entry : Out(32)
        Address of the first instruction.
    arguments : Out(32)
        Address of the program's arguments.
    """

    def __init__(self, clusters: int, cores: int):
        super().__init__({
            "cluster": Out(core_shape(clusters)),
            "core": Out(core_shape(clusters * cores)),
            "entry": Out(32),
            "arguments": Out(32),
        })


def launch_ports(config: CoreBlockConfig) -> dict[str, Any]:
    """Return the port of a core, or of a part of it, for its launch: none with one cluster."""
    several = config.clusters > 1
    return {"launch": In(LaunchSignature(config.clusters, config.cores))} if several else {}
