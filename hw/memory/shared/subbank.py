"""Subbank of shared memory: a 1R1W SRAM of words with wide and lane accesses."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import SharedMemoryConfig
from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter
from ...lib.one_hot import select
from ...lib.sram import Sram

__all__ = ["Subbank", "subbank_access"]


def subbank_access(config: SharedMemoryConfig) -> data.StructLayout:
    """Return the layout of an access to a subbank: line, and for a write a word and byte mask."""
    return data.StructLayout({"line": exact_log2(config.lines), "data": 32, "mask": 4})


class Subbank(SharedBlock):
    """Subbank: a 1R1W SRAM of words, arbitrated between the bank's wide access and lanes.

    Combinational from requests to grants. `word` is valid one cycle after a read and held until
    the next. Each path, read and write, does one access per cycle: the wide one first, else one
    lane's, round-robin. A lane stalls while the other path accesses the same line in this cycle:
    always behind a wide access; of two lanes each yields in turn, so that both proceed.

    Parameters
    ----------
    config : SharedMemoryConfig

    Members
    -------
    read, read_line : In(1), In(exact_log2(lines))
        A wide read. Never of the line of a wide write in the same cycle.
    write, written : In(1), In(subbank_access(config))
        A wide write.
    word : Out(32)
        The word read last.
    lane : In(subbank_access(config)).array(narrow_ports)
        The access of each lane. This and all below only if there are narrow ports.
    lane_reads, lane_writes : In(narrow_ports)
        Lanes with a read or a write of this subbank.
    lane_grants : Out(narrow_ports)
        Lanes whose access is done in this cycle.
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
            members |= {"lane": In(subbank_access(config)).array(config.narrow_ports)}
            members |= {name: In(config.narrow_ports) for name in ("lane_reads", "lane_writes")}
            members |= {"lane_grants": Out(config.narrow_ports)}
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
        """Arbitrate lanes for the paths that no wide access uses."""
        lanes = self.lane
        m.submodules.reader = reader = Arbiter(len(lanes))
        m.submodules.writer = writer = Arbiter(len(lanes))
        read_line = Signal.like(self.read_line)
        written = Signal(subbank_access(self.config))
        read, read_goes = Signal(), Signal()
        write, write_goes = Signal(), Signal()
        same_line = Signal()
        read_first = Signal()
        m.d.comb += [
            reader.requests.eq(self.lane_reads),
            writer.requests.eq(self.lane_writes),
            read_line.eq(select(reader.grant, [lane.line for lane in lanes])),
            written.as_value().eq(select(writer.grant, [lane.as_value() for lane in lanes])),
            read.eq(self.lane_reads.any() & ~self.read),
            write.eq(self.lane_writes.any() & ~self.write),
            same_line.eq(sram.read_address == sram.write_address),
            read_goes.eq(read & ~(same_line & (self.write | (write & ~read_first)))),
            write_goes.eq(write & ~(same_line & (self.read | (read & read_first)))),
            reader.taken.eq(read_goes),
            writer.taken.eq(write_goes),
            self.lane_grants.eq(Mux(read_goes, reader.grant, 0) | Mux(write_goes, writer.grant, 0)),
        ]
        with m.If(read & write & same_line):
            m.d.sync += read_first.eq(~read_first)
        with m.If(~self.read):
            m.d.comb += [sram.read_address.eq(read_line), sram.read_enable.eq(read_goes)]
        with m.If(~self.write):
            m.d.comb += [
                sram.write_address.eq(written.line),
                sram.write_data.eq(written.data),
                sram.write_mask.eq(Mux(write_goes, written.mask, 0)),
            ]
