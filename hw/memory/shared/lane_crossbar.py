"""Crossbar from the lanes to the subbanks of a bank of shared memory."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Member, Out

from ...config import WORD_BYTES
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.shared_memory import atomic_fields
from .crossbar import route
from .ports import SharedMemoryPorts
from .signatures import LaneAccessSignature, RequestsSignature

__all__ = ["LaneCrossbar", "lane_members"]


def lane_members(config: SharedMemoryPorts) -> dict[str, Member]:
    """Return the ports of lanes: `narrow_{n}`, by addresses in a bank."""
    atomics = config.memory.atomics
    layout = data.StructLayout({
        **{"address": config.bank_address_width, "write": 1, "data": 32, "mask": 4},
        **atomic_fields(None if atomics is None else atomics.owner_width),
    })
    names = [f"narrow_{n}" for n in range(config.memory.narrow_ports)]
    return {name: In(stream.Signature(layout)) for name in names}


class LaneCrossbar(SharedBlock):
    """Lane crossbar: routes the request of each lane to the subbank that holds its word.

    Combinational. An atomic is routed like a read, in a turn of its port.

    Parameters
    ----------
    config : SharedMemoryPorts
        With narrow ports.

    Members
    -------
    narrow_{n} : see `lane_members`
    access : Out(LaneAccessSignature(config.memory))
        To all slices.
    requests : Out(RequestsSignature(narrow_ports)).array(config.memory.subbanks)
    turn : In(narrow_ports)
        Ports whose atomic may be done in this cycle. Only with atomics.
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        requests = Out(RequestsSignature(memory.narrow_ports)).array(memory.subbanks)
        turn = {} if memory.atomics is None else {"turn": In(memory.narrow_ports)}
        super().__init__(
            lane_members(config)
            | {"access": Out(LaneAccessSignature(memory)), "requests": requests}
            | turn
        )

    def build(self, platform):
        m = Module()
        for n, lane in enumerate(self.access.lane):
            name = f"narrow_{n}"
            port, may_read = getattr(self, name), None
            if self.config.memory.atomics is not None:
                may_read = ~port.payload.atomic | self.turn[n]
            route(m, port, lane, self.requests, n, WORD_BYTES, name, may_read)
        return m
