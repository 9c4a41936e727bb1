"""Subbank of shared memory: a 1R1W SRAM of words with accesses of its row slice and of lanes."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...config import SharedMemoryConfig
from ...emit.shared_block import SharedBlock
from ...lib.sram import Sram
from .lane_arbiter import LaneArbiter
from .signatures import (
    AtomicWriteSignature,
    FreePathsSignature,
    LaneAccessSignature,
    LockSignature,
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
    that both proceed. With atomics `locks` hold lanes back, and their writes go before all others.

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
    locks : In(LockSignature(1, line_width))
        This and all below only with atomics.
    atomic : In(AtomicWriteSignature())
    written : Out(StructLayout)
        Whether bytes are written in this cycle, `valid`, and their `line`.
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
        if config.atomics is not None:
            line_width = exact_log2(config.lines)
            members |= {
                "locks": In(LockSignature(1, line_width)),
                "atomic": In(AtomicWriteSignature()),
                "written": Out(data.StructLayout({"valid": 1, "line": line_width})),
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
            if config.atomics is not None:
                connect(m, flipped(self.locks), lane_arbiter.locks)
        m.submodules.sram = sram = Sram(depth=config.lines, width=32, granularity=8)
        m.d.comb += [
            sram.read.valid.eq(access.read),
            sram.read.payload.eq(access.read_line),
            sram.write.mask.eq(Mux(access.write, access.written.mask, 0)),
            sram.write.address.eq(access.written.line),
            sram.write.data.eq(access.written.data),
            self.word.eq(sram.data),
        ]
        if config.atomics is not None:
            self.write_atomics(m, sram.write)
        return m

    def write_atomics(self, m: Module, write):
        """Replace a write by that of atomics, and report what is written."""
        with m.If(self.locks.writes):
            m.d.comb += [
                write.mask.eq(self.atomic.mask),
                write.address.eq(self.locks.lock[1].line),
                write.data.eq(self.atomic.data),
            ]
        m.d.comb += [self.written.valid.eq(write.mask.any()), self.written.line.eq(write.address)]
