"""Row slice of a bank of shared memory: the subbanks that hold a row of each line."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import select
from .ports import SharedMemoryPorts
from .row_arbiter import RowArbiter, RowArbiterConfig
from .subbank import Subbank, subbank_access

__all__ = ["RowSlice", "row_access"]


def row_access(config: SharedMemoryPorts) -> data.StructLayout:
    """Return the layout of an access to a slice: line, and for a write a row and byte mask."""
    return data.StructLayout({
        "line": exact_log2(config.memory.lines),
        "data": 8 * config.slice_bytes,
        "mask": config.slice_bytes,
    })


class RowSlice(SharedBlock):
    """Row slice: subbanks of a bank, with one row access per cycle and path beside wide accesses.

    Combinational from requests to grants. Each path, read and write, serves in a cycle a wide
    access to any of the subbanks, one row, or lanes in different subbanks. A wide access goes
    first: rows wait for it, lanes use the subbanks that it leaves. Rows of one path are served
    round-robin. Rows and lanes that wait for one path take turns, from one access done to the
    next.

    No line is read and written in a cycle. A row stalls while a wide access of the other path
    uses its line. A read and a write of rows of one line yield in turn. A lane stalls while a row
    of the other path uses its line; then rows stall until a lane of the slice is served.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    read, read_line : In(slice_words), In(exact_log2(lines))
        Subbanks of a wide read, and its line. Never that of a wide write in the same cycle.
    write, written : In(slice_words), In(row_access(config))
        Subbanks of a wide write, and the write.
    words : Out(8 * slice_bytes)
        The word read last from each subbank.
    row : In(row_access(config)).array(row_ports)
        The access of each row port. This and the following only if there are row ports.
    row_reads, row_writes : In(row_ports)
        Row ports with a read or a write of this slice.
    row_grants : Out(row_ports)
        Row ports whose access is done in this cycle.
    lane : In(subbank_access(memory)).array(narrow_ports)
        The access of each lane. This and the following only if there are narrow ports.
    lane_reads, lane_writes : In(narrow_ports).array(slice_words)
        Lanes with a read or a write of each subbank.
    lane_grants : Out(narrow_ports)
        Lanes whose access is done in this cycle.
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory, words = config.memory, config.slice_words
        members = {
            "read": In(words),
            "read_line": In(exact_log2(memory.lines)),
            "write": In(words),
            "written": In(row_access(config)),
            "words": Out(8 * config.slice_bytes),
        }
        if rows := config.row_ports:
            members |= {"row": In(row_access(config)).array(rows)}
            members |= {"row_reads": In(rows), "row_writes": In(rows), "row_grants": Out(rows)}
        if lanes := memory.narrow_ports:
            members |= {"lane": In(subbank_access(memory)).array(lanes)}
            members |= {name: In(lanes).array(words) for name in ("lane_reads", "lane_writes")}
            members |= {"lane_grants": Out(lanes)}
        super().__init__(members)

    def build(self, platform):
        m = Module()
        config = self.config
        subbanks = []
        for s in range(config.slice_words):
            m.submodules[f"subbank_{s}"] = subbank = Subbank(config.memory)
            subbanks.append(subbank)
            m.d.comb += self.words.word_select(s, 32).eq(subbank.word)
        read_line, written = self.read_line, self.written
        read = write = owns_reads = owns_writes = C(0, 1)
        if config.row_ports:
            rows = self.add_rows(m, subbanks)
            read, write = rows.read_done, rows.write_done
            owns_reads, owns_writes = rows.owns_reads, rows.owns_writes
            read_line, written = self.merge(m, rows)
        for s, subbank in enumerate(subbanks):
            m.d.comb += [
                subbank.read.eq(self.read[s] | read),
                subbank.read_line.eq(read_line),
                subbank.write.eq(self.write[s] | write),
                subbank.written.line.eq(written.line),
                subbank.written.data.eq(written.data.word_select(s, 32)),
                subbank.written.mask.eq(written.mask.word_select(s, WORD_BYTES)),
            ]
            if config.memory.narrow_ports:
                m.d.comb += [
                    subbank.reads_free.eq(~self.read[s] & ~owns_reads),
                    subbank.writes_free.eq(~self.write[s] & ~owns_writes),
                    subbank.lane_reads.eq(self.lane_reads[s]),
                    subbank.lane_writes.eq(self.lane_writes[s]),
                    *(own.eq(lane) for own, lane in zip(subbank.lane, self.lane, strict=True)),
                ]
        if config.memory.narrow_ports:
            grants = [subbank.lane_grants for subbank in subbanks]
            m.d.comb += self.lane_grants.eq(
                Cat(Cat(grant[n] for grant in grants).any() for n in range(len(self.lane)))
            )
        return m

    def add_rows(self, m: Module, subbanks: list[Subbank]) -> RowArbiter:
        """Add the arbiter of rows."""
        config = RowArbiterConfig(rows=self.config.row_ports, line_width=len(self.read_line))
        m.submodules.rows = rows = RowArbiter(config)
        m.d.comb += [
            *(line.eq(row.line) for line, row in zip(rows.line, self.row, strict=True)),
            rows.reads.eq(self.row_reads),
            rows.writes.eq(self.row_writes),
            rows.wide_read.eq(self.read.any()),
            rows.wide_read_line.eq(self.read_line),
            rows.wide_write.eq(self.write.any()),
            rows.wide_write_line.eq(self.written.line),
            self.row_grants.eq(
                Mux(rows.read_done, rows.read_grant, 0) | Mux(rows.write_done, rows.write_grant, 0)
            ),
        ]
        if not self.config.memory.narrow_ports:
            return rows
        reads = [lanes.any() for lanes in self.lane_reads]
        writes = [lanes.any() for lanes in self.lane_writes]
        read = [subbank.lane_reading for subbank in subbanks]
        written = [subbank.lane_writing for subbank in subbanks]
        m.d.comb += [
            rows.lanes_read.eq(Cat(reads).any()),
            rows.lanes_write.eq(Cat(writes).any()),
            rows.lane_read_done.eq(Cat(read).any()),
            rows.lane_write_done.eq(Cat(written).any()),
            rows.lane_read_stalls.eq(
                (Cat(reads) & ~Cat(read) & Cat(each.reads_free for each in subbanks)).any()
            ),
            rows.lane_write_stalls.eq(
                (Cat(writes) & ~Cat(written) & Cat(each.writes_free for each in subbanks)).any()
            ),
        ]
        return rows

    def merge(self, m: Module, rows: RowArbiter):
        """Return the read line and the write that each subbank without a lane sees."""
        read_line = Signal.like(self.read_line, name="slice_read_line")
        written = Signal(row_access(self.config), name="slice_written")
        row_line = select(rows.read_grant, rows.line)
        row = select(rows.write_grant, [row.as_value() for row in self.row])
        m.d.comb += [
            read_line.eq(Mux(self.read.any(), self.read_line, row_line)),
            written.as_value().eq(Mux(self.write.any(), self.written.as_value(), row)),
        ]
        return read_line, written
