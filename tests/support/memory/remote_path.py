"""Network between clusters with the remote port of every core before it, for their paths."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from spica.hw.config import ClusterNetworkConfig, MachineConfig, MemoryUnitConfig
from spica.hw.lib.interfaces.shared_memory import NarrowSignature
from spica.hw.machine.cluster_network import ClusterNetwork
from spica.hw.memory.memory_unit.layouts import group_layout, reply_layout
from spica.hw.memory.memory_unit.remote_port import RemotePort

__all__ = ["RemotePath"]


class RemotePath(wiring.Component):
    """Remote ports of all cores, and the network to the shared memories.

    Parameters
    ----------
    config : MachineConfig
        With several clusters.

    Members
    -------
    i : In(stream.Signature(group_layout(…))).array(cores)
    o : Out(stream.Signature(reply_layout(…))).array(cores)
    shared : Out(NarrowSignature(config.shared)).array(clusters)
    """

    i: list
    o: list
    shared: list

    def __init__(self, config: MachineConfig):
        self.config = config
        self.unit = MemoryUnitConfig.of(config, config.clusters)
        super().__init__({
            "i": In(stream.Signature(group_layout(self.unit))).array(config.all_cores),
            "o": Out(stream.Signature(reply_layout(self.unit))).array(config.all_cores),
            "shared": Out(NarrowSignature(config.shared.port)).array(config.clusters),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.network = network = ClusterNetwork(ClusterNetworkConfig.of(self.config))
        for number, core in enumerate(network.core):
            m.submodules[f"port_{number}"] = port = RemotePort(self.unit)
            connect(m, flipped(self.i[number]), port.i)
            connect(m, port.remote, core)
            connect(m, port.o, flipped(self.o[number]))
        for cluster, shared in enumerate(network.shared):
            connect(m, shared, flipped(self.shared[cluster]))
        return m
