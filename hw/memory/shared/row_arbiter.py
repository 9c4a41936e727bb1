"""Arbiter of a row slice: selects the rows that are read and written in a cycle."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter
from ...lib.one_hot import select

__all__ = ["RowArbiter", "RowArbiterConfig"]


@dataclass(frozen=True, kw_only=True)
class RowArbiterConfig:
    """Requesters of rows of a slice.

    Parameters
    ----------
    rows : int
        Row ports.
    line_width : int
        Bits of a line's number.

    """

    rows: int
    line_width: int


class RowArbiter(SharedBlock):
    """Row arbiter: grants one row read and one row write per cycle, beside wide and lane accesses.

    Combinational. Rows of one path are granted round-robin. A row waits for a wide access of its
    path, and for one of the other path that uses its line. A row read and a row write of one line
    are granted in turn. If rows and lanes request one path, they own it in turn, from one access
    done to the next. If a row that is done stalls a lane on the other path, lanes own both paths
    until one of them is done.

    Parameters
    ----------
    config : RowArbiterConfig

    Members
    -------
    line : In(line_width).array(rows)
        The line of each row.
    reads, writes : In(rows)
        Rows to be read and to be written.
    wide_read, wide_read_line, wide_write, wide_write_line : In(1), In(line_width)
        The wide access of each path to the slice, and its line.
    lanes_read, lanes_write : In(1)
        Lanes request the path.
    lane_read_done, lane_write_done : In(1)
        An access of a lane is done in this cycle.
    lane_read_stalls, lane_write_stalls : In(1)
        A lane that owns the path stalls because of the line on the other path.
    owns_reads, owns_writes : Out(1)
        Rows own the path. Independent of wide accesses, which are known later.
    read_grant, write_grant : Out(rows)
        The row selected on each path, one-hot.
    read_done, write_done : Out(1)
        The selected row is accessed in this cycle.
    """

    def __init__(self, config: RowArbiterConfig):
        self.config = config
        rows, line = config.rows, config.line_width
        lanes = ("lanes_{}", "lane_{}_done", "lane_{}_stalls")
        super().__init__({
            "line": In(line).array(rows),
            "reads": In(rows),
            "writes": In(rows),
            "wide_read": In(1),
            "wide_read_line": In(line),
            "wide_write": In(1),
            "wide_write_line": In(line),
            **{name.format(path): In(1) for name in lanes for path in ("read", "write")},
            "owns_reads": Out(1),
            "owns_writes": Out(1),
            "read_grant": Out(rows),
            "write_grant": Out(rows),
            "read_done": Out(1),
            "write_done": Out(1),
        })

    def build(self, platform):
        m = Module()
        m.submodules.reader = reader = Arbiter(self.config.rows)
        m.submodules.writer = writer = Arbiter(self.config.rows)
        read_line = Signal(self.config.line_width)
        write_line = Signal(self.config.line_width)
        read = Signal()
        write = Signal()
        same_line = Signal()
        lanes_first = Signal()
        read_first = Signal()
        m.d.comb += [
            reader.requests.eq(self.reads),
            writer.requests.eq(self.writes),
            self.read_grant.eq(reader.grant),
            self.write_grant.eq(writer.grant),
            read_line.eq(select(reader.grant, self.line)),
            write_line.eq(select(writer.grant, self.line)),
            self.owns_reads.eq(
                self.own(m, "read", self.reads, self.lanes_read, self.lane_read_done, lanes_first)
            ),
            self.owns_writes.eq(
                self.own(
                    m, "write", self.writes, self.lanes_write, self.lane_write_done, lanes_first
                )
            ),
            read.eq(self.owns_reads & ~self.wide_read),
            write.eq(self.owns_writes & ~self.wide_write),
            same_line.eq(read_line == write_line),
            self.read_done.eq(
                read
                & ~(self.wide_write & (read_line == self.wide_write_line))
                & ~(write & same_line & ~read_first)
            ),
            self.write_done.eq(
                write
                & ~(self.wide_read & (write_line == self.wide_read_line))
                & ~(read & same_line & read_first)
            ),
            reader.taken.eq(self.read_done),
            writer.taken.eq(self.write_done),
        ]
        with m.If(read & write & same_line):
            m.d.sync += read_first.eq(~read_first)
        stalled = (self.lane_read_stalls & self.write_done) | (
            self.lane_write_stalls & self.read_done
        )
        lane_done = self.lane_read_done | self.lane_write_done
        m.d.sync += lanes_first.eq(stalled | (lanes_first & ~lane_done))
        return m

    def own(self, m: Module, path: str, rows, lanes, lane_done, lanes_first) -> Value:
        """Return whether rows own a path; the turn changes with every access done."""
        lanes_turn = Signal(name=f"lanes_{path}_turn")
        with m.If(lane_done):
            m.d.sync += lanes_turn.eq(0)
        with m.Elif(getattr(self, f"{path}_done")):
            m.d.sync += lanes_turn.eq(1)
        return rows.any() & ~lanes_first & ~(lanes_turn & lanes)
