"""Lane arbiter of a subbank of shared memory."""

from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ...config import SharedMemoryConfig
from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter, ArbitrationSignature
from ...lib.one_hot import select, select_one
from .signatures import (
    FreePathsSignature,
    LaneAccessSignature,
    LockSignature,
    RequestsSignature,
    SubbankAccessSignature,
    is_locked,
    subbank_access,
)

__all__ = ["LaneArbiter"]


class LaneArbiter(SharedBlock):
    """Lane arbiter: does accesses of lanes on the paths that the slice leaves free.

    Combinational. Each path does one lane's access per cycle, round-robin. A lane stalls while the
    other path accesses the same line in this cycle: always behind an access of the slice; of two
    lanes each yields in turn, so that both proceed.

    Parameters
    ----------
    config : SharedMemoryConfig
        With narrow ports.

    Members
    -------
    access : In(SubbankAccessSignature(config))
        Access of the slice.
    free : In(FreePathsSignature())
    lanes : In(LaneAccessSignature(config))
    requests : In(RequestsSignature(config.narrow_ports))
    o : Out(SubbankAccessSignature(config))
        The accesses of this cycle.
    reads, writes : Out(1)
        A lane's read or write is done in this cycle.
    locks : In(LockSignature(1, line_width))
        Only with atomics.
    """

    def __init__(self, config: SharedMemoryConfig):
        self.config = config
        locks = {}
        if config.atomics is not None:
            locks = {"locks": In(LockSignature(1, exact_log2(config.lines)))}
        super().__init__({
            "access": In(SubbankAccessSignature(config)),
            "free": In(FreePathsSignature()),
            "lanes": In(LaneAccessSignature(config)),
            "requests": In(RequestsSignature(config.narrow_ports)),
            "o": Out(SubbankAccessSignature(config)),
            "reads": Out(1),
            "writes": Out(1),
            **locks,
        })

    def build(self, platform):
        m = Module()
        access, free, lanes, requests = self.access, self.free, self.lanes.lane, self.requests
        reader: Any = ArbitrationSignature(len(lanes)).create()
        writer: Any = ArbitrationSignature(len(lanes)).create()
        m.submodules.reader = read_arbiter = Arbiter(len(lanes))
        m.submodules.writer = write_arbiter = Arbiter(len(lanes))
        connect(m, reader, read_arbiter)
        connect(m, writer, write_arbiter)
        read_line = Signal.like(access.read_line)
        written = Signal(subbank_access(self.config))
        read, write, same_line, read_first = Signal(), Signal(), Signal(), Signal()
        read_grant, write_grant = reader.grant, writer.grant
        may_read, may_write = free.reads, free.writes
        if self.config.atomics is not None:
            may_read = may_read & ~is_locked(self.locks, read_line)
            may_write = may_write & ~is_locked(self.locks, written.line) & ~self.locks.writes
        m.d.comb += [
            reader.requests.eq(requests.reads),
            writer.requests.eq(requests.writes),
            read_line.eq(select_one(read_grant, [lane.line for lane in lanes])),
            written.line.eq(select_one(write_grant, [lane.line for lane in lanes])),
            written.data.eq(select(write_grant, [lane.data for lane in lanes])),
            written.mask.eq(select(write_grant, [lane.mask for lane in lanes])),
            read.eq(requests.reads.any() & may_read),
            write.eq(requests.writes.any() & may_write),
            same_line.eq(self.o.read_line == self.o.written.line),
            self.reads.eq(read & ~(same_line & (access.write | (write & ~read_first)))),
            self.writes.eq(write & ~(same_line & (access.read | (read & read_first)))),
            reader.accept.eq(self.reads),
            writer.accept.eq(self.writes),
            requests.grants.eq(Mux(self.reads, read_grant, 0) | Mux(self.writes, write_grant, 0)),
        ]
        with m.If(read & write & same_line):
            m.d.sync += read_first.eq(~read_first)
        # A path is selected by `free`, which is known before the accesses of the slice.
        m.d.comb += [
            self.o.read.eq(Mux(free.reads, self.reads, access.read)),
            self.o.read_line.eq(Mux(free.reads, read_line, access.read_line)),
            self.o.write.eq(Mux(free.writes, self.writes, access.write)),
            self.o.written.eq(Mux(free.writes, written.as_value(), access.written.as_value())),
        ]
        return m
