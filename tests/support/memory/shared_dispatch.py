"""Shared memory with the dispatch of every core before it, for the depth of their paths."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from spica.hw.config import MachineConfig, MemoryUnitConfig
from spica.hw.lib.interfaces.core_memory import data_response_layout
from spica.hw.lib.register_slices import SkidBuffer
from spica.hw.lib.streams import ResponseSignature
from spica.hw.memory.memory_unit.layouts import group_layout
from spica.hw.memory.memory_unit.shared_lanes import SharedLanes
from spica.hw.memory.shared.shared_memory import SharedMemory, cluster_ports

__all__ = ["SharedDispatch"]


class SharedDispatch(wiring.Component):
    """Dispatch of all cores, between the skid buffers before it and shared memory.

    Parameters
    ----------
    config : MachineConfig
        With cores.

    Members
    -------
    i : In(stream.Signature(group_layout(…))).array(cores)
    o : Out(ResponseSignature(data_response_layout(core))).array(cores)
    busy : Out(1)
        That of shared memory.
    """

    i: list
    o: list
    busy: Signal

    def __init__(self, config: MachineConfig):
        self.config = config
        self.unit = MemoryUnitConfig.of(config)
        group = stream.Signature(group_layout(self.unit))
        response = ResponseSignature(data_response_layout(self.unit.core))
        super().__init__({
            "i": In(group).array(config.cores),
            "o": Out(response).array(config.cores),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        ports = self.config.core_shared_ports
        m.submodules.memory = memory = SharedMemory(cluster_ports(self.config))
        for core in range(self.config.cores):
            m.submodules[f"ahead_{core}"] = ahead = SkidBuffer(group_layout(self.unit))
            m.submodules[f"lanes_{core}"] = lanes = SharedLanes(self.unit)
            connect(m, flipped(self.i[core]), ahead.i)
            connect(m, ahead.o, lanes.i)
            connect(m, lanes.o, flipped(self.o[core]))
            for port in range(ports):
                connect(m, lanes.port[port], getattr(memory, f"narrow_{core * ports + port}"))
            if lanes.has_rows:
                connect(m, lanes.row, getattr(memory, f"row_{core}"))
        m.d.comb += self.busy.eq(memory.busy)
        return m
