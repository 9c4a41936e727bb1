"""Subbank of shared memory: a 1R1W SRAM of words with accesses of its row slice and of lanes."""

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import SharedMemoryConfig
from ...emit.shared_block import SharedBlock
from ...lib.sram import Sram
from .lane_arbiter import LaneArbiter
from .signatures import (
    FreePathsSignature,
    LaneAccessSignature,
    RequestsSignature,
    SubbankAccessSignature,
)

__all__ = ["Subbank"]


class Subbank(SharedBlock):
    """Subbank: a 1R1W SRAM of words, shared by the wide and row accesses of its slice and lanes.

    Combinational from requests to grants. `word` is valid one cycle after a read and held until
    the next. Each path, read and write, does one access per cycle: that of the slice, or one
    lane's if the path is free, round-robin. A lane stalls while the other path accesses the same
    line in this cycle: always behind an access of the slice; of two lanes each yields in turn, so
    that both proceed.

    Parameters
    ----------
    config : SharedMemoryConfig

    Members
    -------
    access : In(SubbankAccessSignature(config))
        Access of the slice.
    word : Out(32)
        The word read last.
    free : In(FreePathsSignature())
        This and all below only if there are narrow ports.
    lanes : In(LaneAccessSignature(config))
    requests : In(RequestsSignature(narrow_ports))
        Lanes with an access to this subbank.
    lane_read, lane_write : Out(1)
        A lane's read or write is done in this cycle.
    """

    def __init__(self, config: SharedMemoryConfig):
        self.config = config
        members = {"access": In(SubbankAccessSignature(config)), "word": Out(32)}
        if config.narrow_ports:
            members |= {
                "free": In(FreePathsSignature()),
                "lanes": In(LaneAccessSignature(config)),
                "requests": In(RequestsSignature(config.narrow_ports)),
                "lane_read": Out(1),
                "lane_write": Out(1),
            }
        super().__init__(members)

    def build(self, platform):
        m = Module()
        config, access = self.config, self.access
        if config.narrow_ports:
            m.submodules.lane_arbiter = lane_arbiter = LaneArbiter(config)
            connect(m, flipped(self.access), lane_arbiter.access)
            connect(m, flipped(self.free), lane_arbiter.free)
            connect(m, flipped(self.lanes), lane_arbiter.lanes)
            connect(m, flipped(self.requests), lane_arbiter.requests)
            m.d.comb += [
                self.lane_read.eq(lane_arbiter.reads),
                self.lane_write.eq(lane_arbiter.writes),
            ]
            access = lane_arbiter.o
        m.submodules.sram = sram = Sram(depth=config.lines, width=32, granularity=8)
        m.d.comb += [
            sram.read.valid.eq(access.read),
            sram.read.payload.eq(access.read_line),
            sram.write.mask.eq(Mux(access.write, access.written.mask, 0)),
            sram.write.address.eq(access.written.line),
            sram.write.data.eq(access.written.data),
            self.word.eq(sram.data),
        ]
        return m
