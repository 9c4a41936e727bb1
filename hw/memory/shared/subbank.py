"""Subbank of shared memory: a 1R1W SRAM of words with accesses of its row slice and of lanes."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import SharedMemoryConfig
from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter
from ...lib.one_hot import select, select_one
from ...lib.sram import Sram

__all__ = ["Subbank", "subbank_access"]


def subbank_access(config: SharedMemoryConfig) -> data.StructLayout:
    """Return the layout of an access to a subbank: line, and for a write a word and byte mask."""
    return data.StructLayout({"line": exact_log2(config.lines), "data": 32, "mask": 4})


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
    read, read_line : In(1), In(exact_log2(lines))
        A wide or row read. Never of the line of a wide or row write in the same cycle.
    write, written : In(1), In(subbank_access(config))
        A wide or row write.
    word : Out(32)
        The word read last.
    reads_free, writes_free : In(1)
        Lanes may use the path; `read` or `write` is then low. These and all below only if there
        are narrow ports.
    lane : In(subbank_access(config)).array(narrow_ports)
        The access of each lane.
    lane_reads, lane_writes : In(narrow_ports)
        Lanes with a read or a write of this subbank.
    lane_grants : Out(narrow_ports)
        Lanes whose access is done in this cycle.
    lane_reading, lane_writing : Out(1)
        A lane's read or write is done in this cycle.
    """

    def __init__(self, config: SharedMemoryConfig):
        self.config = config
        members = {
            "read": In(1),
            "read_line": In(exact_log2(config.lines)),
            "write": In(1),
            "written": In(subbank_access(config)),
            "word": Out(32),
        }
        if config.narrow_ports:
            members |= {name: In(1) for name in ("reads_free", "writes_free")}
            members |= {"lane": In(subbank_access(config)).array(config.narrow_ports)}
            members |= {name: In(config.narrow_ports) for name in ("lane_reads", "lane_writes")}
            members |= {"lane_grants": Out(config.narrow_ports)}
            members |= {name: Out(1) for name in ("lane_reading", "lane_writing")}
        super().__init__(members)

    def build(self, platform):
        m = Module()
        m.submodules.sram = sram = Sram(depth=self.config.lines, width=32, granularity=8)
        m.d.comb += [
            sram.read_enable.eq(self.read),
            sram.read_address.eq(self.read_line),
            sram.write_mask.eq(Mux(self.write, self.written.mask, 0)),
            sram.write_address.eq(self.written.line),
            sram.write_data.eq(self.written.data),
            self.word.eq(sram.read_data),
        ]
        if self.config.narrow_ports:
            self.add_lanes(m, sram)
        return m

    def add_lanes(self, m, sram):
        """Arbitrate lanes for the paths that are free."""
        lanes = self.lane
        m.submodules.reader = reader = Arbiter(len(lanes))
        m.submodules.writer = writer = Arbiter(len(lanes))
        read_line = Signal.like(self.read_line)
        written = Signal(subbank_access(self.config))
        read = Signal()
        write = Signal()
        read_goes, write_goes = self.lane_reading, self.lane_writing
        same_line = Signal()
        read_first = Signal()
        m.d.comb += [
            reader.requests.eq(self.lane_reads),
            writer.requests.eq(self.lane_writes),
            read_line.eq(select_one(reader.grant, [lane.line for lane in lanes])),
            written.line.eq(select_one(writer.grant, [lane.line for lane in lanes])),
            written.data.eq(select(writer.grant, [lane.data for lane in lanes])),
            written.mask.eq(select(writer.grant, [lane.mask for lane in lanes])),
            read.eq(self.lane_reads.any() & self.reads_free),
            write.eq(self.lane_writes.any() & self.writes_free),
            same_line.eq(sram.read_address == sram.write_address),
            read_goes.eq(read & ~(same_line & (self.write | (write & ~read_first)))),
            write_goes.eq(write & ~(same_line & (self.read | (read & read_first)))),
            reader.taken.eq(read_goes),
            writer.taken.eq(write_goes),
            self.lane_grants.eq(Mux(read_goes, reader.grant, 0) | Mux(write_goes, writer.grant, 0)),
        ]
        with m.If(read & write & same_line):
            m.d.sync += read_first.eq(~read_first)
        # A path is selected by `free`, which is known before the accesses of the slice.
        with m.If(self.reads_free):
            m.d.comb += [sram.read_address.eq(read_line), sram.read_enable.eq(read_goes)]
        with m.If(self.writes_free):
            m.d.comb += [
                sram.write_address.eq(written.line),
                sram.write_data.eq(written.data),
                sram.write_mask.eq(Mux(write_goes, written.mask, 0)),
            ]
