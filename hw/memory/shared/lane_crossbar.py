"""Crossbar from the lanes to the subbanks of a bank of shared memory."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Member, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import one_hot
from .ports import SharedMemoryPorts
from .signatures import LaneAccessSignature, RequestsSignature

__all__ = ["LaneCrossbar", "lane_members"]


def lane_members(config: SharedMemoryPorts) -> dict[str, Member]:
    """Return the ports of lanes: `narrow_{n}`, by addresses in a bank."""
    layout = data.StructLayout({
        "address": config.bank_address_width,
        "write": 1,
        "data": 32,
        "mask": 4,
    })
    names = [f"narrow_{n}" for n in range(config.memory.narrow_ports)]
    return {name: In(stream.Signature(layout)) for name in names}


class LaneCrossbar(SharedBlock):
    """Lane crossbar: routes the request of each lane to the subbank that holds its word.

    Combinational.

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
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        requests = Out(RequestsSignature(memory.narrow_ports)).array(memory.subbanks)
        super().__init__(
            lane_members(config)
            | {"access": Out(LaneAccessSignature(memory)), "requests": requests}
        )

    def build(self, platform):
        m = Module()
        memory = self.config.memory
        for n, lane in enumerate(self.access.lane):
            port = getattr(self, f"narrow_{n}")
            access = port.payload
            offset = access.address[exact_log2(WORD_BYTES) : exact_log2(memory.line_bytes)]
            chosen = one_hot(m, offset, memory.subbanks, f"narrow_{n}_subbank")
            m.d.comb += [
                lane.line.eq(access.address[exact_log2(memory.line_bytes) :]),
                lane.data.eq(access.data),
                lane.mask.eq(access.mask),
                port.ready.eq(Cat(requests.grants[n] for requests in self.requests).any()),
            ]
            for s, requests in enumerate(self.requests):
                here = Signal(name=f"narrow_{n}_to_{s}")
                m.d.comb += [
                    here.eq(port.valid & chosen[s]),
                    requests.reads[n].eq(here & ~access.write),
                    requests.writes[n].eq(here & access.write),
                ]
        return m
