"""Merge of wide and row accesses in a row slice of shared memory."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import select
from .ports import SharedMemoryPorts
from .signatures import (
    FreePathsSignature,
    RowAccessSignature,
    RowGrantsSignature,
    SubbankAccessSignature,
    WideAccessSignature,
    WideLinesSignature,
    row_access,
)

__all__ = ["SliceMerge"]


class SliceMerge(SharedBlock):
    """Slice merge: drives the access of each subbank from a wide access, else from a row.

    Combinational. Lanes may use the paths that neither needs.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    wide : In(WideAccessSignature(config))
    lines : Out(WideLinesSignature(line_width))
        This and the two below only if there are row ports.
    rows : In(RowAccessSignature(config))
    grants : In(RowGrantsSignature(config.row_ports))
    subbanks : Out(SubbankAccessSignature(config.memory)).array(config.slice_words)
    free : Out(FreePathsSignature()).array(config.slice_words)
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        members = {
            "wide": In(WideAccessSignature(config)),
            "subbanks": Out(SubbankAccessSignature(config.memory)).array(config.slice_words),
            "free": Out(FreePathsSignature()).array(config.slice_words),
        }
        if config.row_ports:
            members |= {
                "lines": Out(WideLinesSignature(exact_log2(config.memory.lines))),
                "rows": In(RowAccessSignature(config)),
                "grants": In(RowGrantsSignature(config.row_ports)),
            }
        super().__init__(members)

    def build(self, platform):
        m = Module()
        wide, read_line, written = self.wide, self.wide.read_line, self.wide.written
        read = write = owns_reads = owns_writes = C(0, 1)
        if self.config.row_ports:
            grants = self.grants
            read, write = grants.read_done, grants.write_done
            owns_reads, owns_writes = grants.owns_reads, grants.owns_writes
            read_line, written = self.merge(m)
        for s, (subbank, free) in enumerate(zip(self.subbanks, self.free, strict=True)):
            m.d.comb += [
                subbank.read.eq(wide.read[s] | read),
                subbank.read_line.eq(read_line),
                subbank.write.eq(wide.write[s] | write),
                subbank.written.line.eq(written.line),
                subbank.written.data.eq(written.data.word_select(s, 32)),
                subbank.written.mask.eq(written.mask.word_select(s, WORD_BYTES)),
                free.reads.eq(~wide.read[s] & ~owns_reads),
                free.writes.eq(~wide.write[s] & ~owns_writes),
            ]
        return m

    def merge(self, m: Module):
        """Return the read line and the write that each subbank without a lane sees."""
        wide, lines, grants, rows = self.wide, self.lines, self.grants, self.rows.row
        read_line = Signal.like(wide.read_line, name="slice_read_line")
        written = Signal(row_access(self.config), name="slice_written")
        row_line = select(grants.read_grant, [row.line for row in rows])
        row = select(grants.write_grant, [row.as_value() for row in rows])
        m.d.comb += [
            lines.read.eq(wide.read.any()),
            lines.read_line.eq(wide.read_line),
            lines.write.eq(wide.write.any()),
            lines.write_line.eq(wide.written.line),
            read_line.eq(Mux(lines.read, wide.read_line, row_line)),
            written.as_value().eq(Mux(lines.write, wide.written.as_value(), row)),
        ]
        return read_line, written
