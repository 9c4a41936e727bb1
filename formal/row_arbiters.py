"""Proof of the row arbiter: no line is read and written, and rows and lanes take turns."""

from amaranth import *

from spica.hw.memory.shared.row_arbiter import RowArbiter, RowArbiterConfig

from .proof import Proof
from .properties import Assert, Assume, Properties, ones

__all__ = ["PROOFS"]

PATHS = ("read", "write")


class RowTurns(Properties):
    """Rows that are done do not conflict; rows and lanes own a path in turn.

    Assumed: a lane is done only if lanes request the path and no row owns it.
    """

    def __init__(self, rows: int, line_width: int):
        self.config = RowArbiterConfig(rows=rows, line_width=line_width)
        wide = ("wide_{}", "lanes_{}", "lane_{}_done", "lane_{}_stalls")
        super().__init__(
            free={
                **{f"line_{n}": line_width for n in range(rows)},
                **{f"{path}s": rows for path in PATHS},
                **{name.format(path): 1 for name in wide for path in PATHS},
                **{f"wide_{path}_line": line_width for path in PATHS},
            },
            inside={
                **{f"{path}_turn": (f"rows.lanes_{path}_turn", 1) for path in PATHS},
                "lanes_first": ("rows.lanes_first", 1),
                "read_first": ("rows.read_first", 1),
            },
        )

    def state(self, m):
        count = self.config.rows
        m.submodules.rows = dut = RowArbiter(self.config)
        wide, lanes, rows = dut.wide, dut.lanes, dut.grants
        m.d.comb += [dut.line[n].eq(getattr(self, f"line_{n}")) for n in range(count)]
        for path in PATHS:
            m.d.comb += [
                getattr(dut.requests, f"{path}s").eq(getattr(self, f"{path}s")),
                getattr(wide, path).eq(getattr(self, f"wide_{path}")),
                getattr(wide, f"{path}_line").eq(getattr(self, f"wide_{path}_line")),
                getattr(lanes, path).eq(getattr(self, f"lanes_{path}")),
                getattr(lanes, f"{path}_done").eq(getattr(self, f"lane_{path}_done")),
                getattr(lanes, f"{path}_stalls").eq(getattr(self, f"lane_{path}_stalls")),
            ]
        self.row_last = {path: self.turn(m, rows, path) for path in PATHS}
        self.waits = Signal()  # a lane that a row stalled, until a lane is done
        stalled = Cat(
            self.lane_read_stalls & rows.write_done, self.lane_write_stalls & rows.read_done
        ).any()
        done = self.lane_read_done | self.lane_write_done
        m.d.sync += self.waits.eq(stalled | (self.waits & ~done))
        lines = [self.line_of(rows, path) for path in PATHS]
        self.separate(m, rows, lines)
        both = rows.owns_reads & rows.owns_writes & ~self.wide_read & ~self.wide_write
        conflict, self.read_lost = Signal(), Signal()
        m.d.comb += [
            conflict.eq(both & (lines[0] == lines[1])),
            Assert(~conflict | (rows.read_done == self.read_lost)),
            Assert(~conflict | (rows.write_done != rows.read_done)),
            Assert(~both | rows.read_done | rows.write_done),
        ]
        with m.If(conflict):
            m.d.sync += self.read_lost.eq(~rows.read_done)

    def turn(self, m, rows, path: str) -> Signal:
        """Check the owner of a path; return whether a row was done last on it."""
        row_last = Signal(name=f"row_{path}_last")
        owns, row_done = getattr(rows, f"owns_{path}s"), getattr(rows, f"{path}_done")
        lanes, lane_done = getattr(self, f"lanes_{path}"), getattr(self, f"lane_{path}_done")
        requests, grant = getattr(self, f"{path}s"), getattr(rows, f"{path}_grant")
        with m.If(lane_done):
            m.d.sync += row_last.eq(0)
        with m.Elif(row_done):
            m.d.sync += row_last.eq(1)
        m.d.comb += [
            Assume(~lane_done | (lanes & ~owns)),
            Assert(ones(grant) == requests.any()),
            Assert(~(grant & ~requests).any()),
            Assert(~row_done | owns),
            Assert(~owns | ~(row_last & lanes)),
        ]
        return row_last

    def line_of(self, rows, path: str) -> Value:
        """Return the line of the row granted on a path, 0 without one."""
        line = C(0, self.config.line_width)
        for n in range(self.config.rows):
            line = line | Mux(getattr(rows, f"{path}_grant")[n], getattr(self, f"line_{n}"), 0)
        return line

    def separate(self, m, rows, lines) -> None:
        """Assert that accesses of one cycle use different paths or different lines."""
        m.d.comb += [
            Assert(~(rows.read_done & rows.write_done) | (lines[0] != lines[1])),
            Assert(~(rows.read_done & self.wide_read)),
            Assert(~(rows.write_done & self.wide_write)),
            Assert(~(rows.read_done & self.wide_write) | (lines[0] != self.wide_write_line)),
            Assert(~(rows.write_done & self.wide_read) | (lines[1] != self.wide_read_line)),
            Assert(~self.waits | ~(rows.owns_reads | rows.owns_writes)),
        ]

    def relate(self, m):
        m.d.comb += [
            *(Assert(getattr(self, f"{path}_turn") == self.row_last[path]) for path in PATHS),
            Assert(self.lanes_first == self.waits),
            Assert(self.read_first == self.read_lost),
        ]


PROOFS = (
    Proof(
        name="row_arbiter",
        says="no line is read and written in a cycle; rows and lanes own a path in turn; a lane "
        "stalled by a row is next; a row read and a row write of one line are done in turn",
        size="3 rows of 4 lines",
        kind=RowTurns,
        arguments=(3, 2),
    ),
)
