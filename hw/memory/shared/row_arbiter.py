"""Arbiter of a row slice: selects the rows that are read and written in a cycle."""

from dataclasses import dataclass, field
from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect

from ...config.parts import OPTIONAL
from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter, ArbitrationSignature
from ...lib.one_hot import select
from .signatures import (
    LaneStatusSignature,
    LockSignature,
    RequestsSignature,
    RowGrantsSignature,
    WideLinesSignature,
    is_locked,
)

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
    words : int
        Words of a row, which atomics lock; 0 without atomics.

    """

    rows: int
    line_width: int
    words: int = field(default=0, metadata=OPTIONAL)


class RowArbiter(SharedBlock):
    """Row arbiter: grants one row read and one row write per cycle, beside wide and lane accesses.

    Combinational. Rows of one path are granted round-robin. A row waits for a wide access of its
    path, and for one of the other path that uses its line. A row read and a row write of one line
    are granted in turn. If rows and lanes request one path, they own it in turn, from one access
    done to the next. If a row that is done stalls a lane on the other path, lanes own both paths
    until one of them is done. A granted row waits while atomics have locked a word of it, and with
    a write while they write in the slice.

    Parameters
    ----------
    config : RowArbiterConfig

    Members
    -------
    line : In(line_width).array(rows)
        The line of each row.
    requests : In(RequestsSignature(rows))
    wide : In(WideLinesSignature(line_width))
    lanes : In(LaneStatusSignature())
    grants : Out(RowGrantsSignature(rows))
    locks : In(LockSignature(words, line_width))
        Only with atomics.
    """

    def __init__(self, config: RowArbiterConfig):
        self.config = config
        locks = {}
        if config.words:
            locks = {"locks": In(LockSignature(config.words, config.line_width))}
        super().__init__({
            "line": In(config.line_width).array(config.rows),
            "requests": In(RequestsSignature(config.rows)),
            "wide": In(WideLinesSignature(config.line_width)),
            "lanes": In(LaneStatusSignature()),
            "grants": Out(RowGrantsSignature(config.rows)),
            **locks,
        })

    def build(self, platform):
        m = Module()
        requests, wide, lanes, grants = self.requests, self.wide, self.lanes, self.grants
        reader: Any = ArbitrationSignature(self.config.rows).create()
        writer: Any = ArbitrationSignature(self.config.rows).create()
        m.submodules.reader = read_arbiter = Arbiter(self.config.rows)
        m.submodules.writer = write_arbiter = Arbiter(self.config.rows)
        connect(m, reader, read_arbiter)
        connect(m, writer, write_arbiter)
        read_line = Signal(self.config.line_width)
        write_line = Signal(self.config.line_width)
        read, write, same_line = Signal(), Signal(), Signal()
        lanes_first = Signal()
        read_first = Signal()
        may_read, may_write = ~wide.read, ~wide.write
        if self.config.words:
            may_read = may_read & ~is_locked(self.locks, read_line)
            is_written = self.locks.writes.any()
            may_write = may_write & ~is_locked(self.locks, write_line) & ~is_written
        m.d.comb += [
            reader.requests.eq(requests.reads),
            writer.requests.eq(requests.writes),
            grants.read_grant.eq(reader.grant),
            grants.write_grant.eq(writer.grant),
            read_line.eq(select(reader.grant, self.line)),
            write_line.eq(select(writer.grant, self.line)),
            grants.owns_reads.eq(self.own(m, "read", lanes_first)),
            grants.owns_writes.eq(self.own(m, "write", lanes_first)),
            read.eq(grants.owns_reads & may_read),
            write.eq(grants.owns_writes & may_write),
            same_line.eq(read_line == write_line),
            grants.read_done.eq(
                read
                & ~(wide.write & (read_line == wide.write_line))
                & ~(write & same_line & ~read_first)
            ),
            grants.write_done.eq(
                write
                & ~(wide.read & (write_line == wide.read_line))
                & ~(read & same_line & read_first)
            ),
            reader.accept.eq(grants.read_done),
            writer.accept.eq(grants.write_done),
            requests.grants.eq(
                Mux(grants.read_done, grants.read_grant, 0)
                | Mux(grants.write_done, grants.write_grant, 0)
            ),
        ]
        with m.If(read & write & same_line):
            m.d.sync += read_first.eq(~read_first)
        stalled = (lanes.read_stalls & grants.write_done) | (lanes.write_stalls & grants.read_done)
        lane_done = lanes.read_done | lanes.write_done
        m.d.sync += lanes_first.eq(stalled | (lanes_first & ~lane_done))
        return m

    def own(self, m: Module, path: str, lanes_first: Signal) -> Value:
        """Return whether rows own a path; the turn changes with every access done."""
        rows, lanes = getattr(self.requests, f"{path}s"), getattr(self.lanes, path)
        lanes_turn = Signal(name=f"lanes_{path}_turn")
        with m.If(getattr(self.lanes, f"{path}_done")):
            m.d.sync += lanes_turn.eq(0)
        with m.Elif(getattr(self.grants, f"{path}_done")):
            m.d.sync += lanes_turn.eq(1)
        return rows.any() & ~lanes_first & ~(lanes_turn & lanes)
