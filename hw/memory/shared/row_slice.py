"""Row slice of a bank of shared memory: the subbanks that hold a row of each line."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from .ports import SharedMemoryPorts
from .row_arbiter import RowArbiter, RowArbiterConfig
from .signatures import (
    AtomicWriteSignature,
    LaneAccessSignature,
    LockSignature,
    RequestsSignature,
    RowAccessSignature,
    WideAccessSignature,
    connect_locks,
)
from .slice_merge import SliceMerge
from .subbank import Subbank

__all__ = ["RowSlice"]


class RowSlice(SharedBlock):
    """Row slice: subbanks of a bank, with one row access per cycle and path beside wide accesses.

    Combinational from requests to grants. Each path, read and write, serves in a cycle a wide
    access to any of the subbanks, one row, or lanes in different subbanks. A wide access goes
    first: rows wait for it, lanes use the subbanks that it leaves. Rows of one path are served
    round-robin. Rows and lanes that wait for one path take turns, from one access done to the
    next.

    No line is read and written in a cycle. A row stalls while a wide access of the other path
    uses its line. A read and a write of rows of one line yield in turn. A lane stalls while a row
    of the other path uses its line; then rows stall until a lane of the slice is served. With
    atomics `locks` hold rows and lanes back, and their writes go before all others.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    wide : In(WideAccessSignature(config))
    words : Out(8 * slice_bytes)
        The word read last from each subbank.
    rows : In(RowAccessSignature(config))
        This and the following only if there are row ports.
    row_requests : In(RequestsSignature(row_ports))
    lanes : In(LaneAccessSignature(memory))
        This and the following only if there are narrow ports.
    lane_requests : In(RequestsSignature(narrow_ports)).array(slice_words)
        Of each subbank.
    locks : In(LockSignature(slice_words, line_width))
        This and the following only with atomics.
    atomic : In(AtomicWriteSignature())
    writes : Out(StructLayout).array(slice_words)
        Whether bytes of each subbank are written in this cycle, `valid`, and their `line`.
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        members = {
            "wide": In(WideAccessSignature(config)),
            "words": Out(8 * config.slice_bytes),
        }
        if config.row_ports:
            members |= {
                "rows": In(RowAccessSignature(config)),
                "row_requests": In(RequestsSignature(config.row_ports)),
            }
        if memory.narrow_ports:
            requests = In(RequestsSignature(memory.narrow_ports)).array(config.slice_words)
            members |= {"lanes": In(LaneAccessSignature(memory)), "lane_requests": requests}
        if memory.atomics is not None:
            line_width = exact_log2(memory.lines)
            written = data.StructLayout({"valid": 1, "line": line_width})
            members |= {
                "locks": In(LockSignature(config.slice_words, line_width)),
                "atomic": In(AtomicWriteSignature()),
                "writes": Out(written).array(config.slice_words),
            }
        super().__init__(members)

    def build(self, platform):
        m = Module()
        config, has_lanes = self.config, self.config.memory.narrow_ports > 0
        m.submodules.merge = merge = SliceMerge(config)
        connect(m, flipped(self.wide), merge.wide)
        subbanks = [Subbank(config.memory) for _ in range(config.slice_words)]
        for s, subbank in enumerate(subbanks):
            m.submodules[f"subbank_{s}"] = subbank
            connect(m, merge.subbanks[s], subbank.access)
            if has_lanes:
                connect(m, merge.free[s], subbank.free)
                connect(m, flipped(self.lanes), subbank.lanes)
                connect(m, flipped(self.lane_requests[s]), subbank.requests)
        if config.row_ports:
            line_width = exact_log2(config.memory.lines)
            arbiter_config = RowArbiterConfig(
                rows=config.row_ports,
                line_width=line_width,
                words=0 if config.memory.atomics is None else config.slice_words,
            )
            m.submodules.rows = rows = RowArbiter(arbiter_config)
            connect(m, flipped(self.rows), merge.rows)
            connect(m, flipped(self.row_requests), rows.requests)
            connect(m, merge.lines, rows.wide)
            connect(m, rows.grants, merge.grants)
            m.d.comb += [
                line.eq(row.line) for line, row in zip(rows.line, self.rows.row, strict=True)
            ]
            if has_lanes:
                self.report_lanes(m, rows, subbanks)
            if config.memory.atomics is not None:
                connect(m, flipped(self.locks), rows.locks)
        if config.memory.atomics is not None:
            self.connect_atomics(m, subbanks)
        m.d.comb += self.words.eq(Cat(subbank.word for subbank in subbanks))
        return m

    def connect_atomics(self, m: Module, subbanks: Sequence[Subbank]):
        """Connect locks and writes of atomics to the subbanks, and report what is written."""
        for s, subbank in enumerate(subbanks):
            connect_locks(m, self.locks, subbank.locks, s)
            connect(m, flipped(self.atomic), subbank.atomic)
            m.d.comb += self.writes[s].eq(subbank.written)

    def report_lanes(self, m: Module, rows: RowArbiter, subbanks: Sequence[Subbank]):
        """Report the accesses of lanes to the arbiter of rows."""
        for path in ("read", "write"):
            requests = Cat(getattr(port, f"{path}s").any() for port in self.lane_requests)
            done = Cat(getattr(subbank, f"lane_{path}") for subbank in subbanks)
            is_free = Cat(getattr(subbank.free, f"{path}s") for subbank in subbanks)
            m.d.comb += [
                getattr(rows.lanes, path).eq(requests.any()),
                getattr(rows.lanes, f"{path}_done").eq(done.any()),
                getattr(rows.lanes, f"{path}_stalls").eq((requests & ~done & is_free).any()),
            ]
