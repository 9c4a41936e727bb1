"""Bank of shared memory: one line per cycle and path, arbitrated between requesters."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib.wiring import Out, connect, flipped

from ...emit.shared_block import SharedBlock
from .bank_atomics import BankAtomics
from .lane_crossbar import LaneCrossbar, lane_members
from .ports import SharedMemoryPorts
from .row_crossbar import RowCrossbar, row_members
from .row_slice import RowSlice
from .signatures import connect_locks
from .wide_arbiter import WideArbiter, wide_members

__all__ = ["Bank"]


class Bank(SharedBlock):
    """Bank: one wide read and one wide write per cycle, with rows and lanes in free subbanks.

    Combinational from requests to `ready`; `line` is valid one cycle after a read. Wide
    requesters of one path are served round-robin, even if they access different subbanks. If the
    selected read and write access one line, they yield in turn: the loser is served one cycle
    later. Rows and lanes use the subbanks that remain free (`RowSlice`, `Subbank`). Atomics of
    lanes are done one after the other (`BankAtomics`).

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    read_{i} : In(stream.Signature(bank_address_width))
        Wide reads: byte address within the bank.
    write_{i} : In(stream.Signature(StructLayout))
        Wide writes: `address` within the bank, `data`, `mask`.
    narrow_{n} : In(stream.Signature(StructLayout))
        Accesses of lanes: `address` within the bank, `write`, `data`, `mask`, `atomic_fields`.
    row_{n} : In(stream.Signature(StructLayout))
        Accesses of rows, likewise.
    line : Out(8 * line_bytes)
        The word read last from each subbank.
    fails : Out(1)
        The store-conditional that was accepted in the last cycle does not write. This and the
        next only with atomics.
    busy : Out(1)
        An atomic is in progress or arrives, or there is a reservation.
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        self.wide, self.lanes = wide_members(config), lane_members(config)
        self.rows = row_members(config)
        members = {"line": Out(8 * config.memory.line_bytes)}
        if config.memory.atomics is not None:
            members |= {"fails": Out(1), "busy": Out(1)}
        super().__init__(self.wide | self.lanes | self.rows | members)

    def build(self, platform):
        m = Module()
        config, words = self.config, self.config.slice_words
        slices = [RowSlice(config) for _ in range(config.slices)]
        for number, row_slice in enumerate(slices):
            m.submodules[f"slice_{number}"] = row_slice
        m.submodules.wide = wide = WideArbiter(config)
        for name in self.wide:
            connect(m, flipped(getattr(self, name)), getattr(wide, name))
        for row_slice, access in zip(slices, wide.slices, strict=True):
            connect(m, access, row_slice.wide)
        if self.lanes:
            m.submodules.lanes = lanes = LaneCrossbar(config)
            for name in self.lanes:
                connect(m, flipped(getattr(self, name)), getattr(lanes, name))
            connect(m, lanes.access, *(row_slice.lanes for row_slice in slices))
            for s, requests in enumerate(lanes.requests):
                connect(m, requests, slices[s // words].lane_requests[s % words])
            if config.memory.atomics is not None:
                self.add_atomics(m, wide, lanes, slices)
        if self.rows:
            m.submodules.rows = rows = RowCrossbar(config)
            for name in self.rows:
                connect(m, flipped(getattr(self, name)), getattr(rows, name))
            connect(m, rows.access, *(row_slice.rows for row_slice in slices))
            for row_slice, requests in zip(slices, rows.requests, strict=True):
                connect(m, requests, row_slice.row_requests)
        m.d.comb += self.line.eq(Cat(row_slice.words for row_slice in slices))
        return m

    def add_atomics(
        self, m: Module, wide: WideArbiter, lanes: LaneCrossbar, slices: Sequence[RowSlice]
    ):
        """Add the execution of atomics, with locks for all other accesses."""
        words = self.config.slice_words
        m.submodules.atomics = atomics = BankAtomics(self.config)
        for number, name in enumerate(self.lanes):
            atomics.connect_lane(m, atomics.lanes, number, getattr(lanes, name), self.config)
        connect_locks(m, atomics.locks, wide.locks, 0)
        waits = []
        for number, row_slice in enumerate(slices):
            connect_locks(m, atomics.locks, row_slice.locks, number)
            connect(m, atomics.write, row_slice.atomic)
            m.d.comb += [
                atomics.writes[number * words + s].eq(written)
                for s, written in enumerate(row_slice.writes)
            ]
            row_waits = row_slice.row_requests.writes.any() if self.rows else C(0, 1)
            for s in range(words):
                lane_waits = row_slice.lane_requests[s].writes.any()
                waits.append(wide.waits[number * words + s] | row_waits | lane_waits)
        # Not by the grants of ports, which are known later.
        turn = atomics.lanes.turn & atomics.lanes.requests
        m.d.comb += [
            atomics.lanes.done.eq(Cat((one.grants & turn).any() for one in lanes.requests)),
            lanes.turn.eq(atomics.lanes.turn),
            atomics.line.eq(self.line),
            atomics.waits.eq(Cat(waits)),
            self.fails.eq(atomics.fails),
            self.busy.eq(atomics.busy),
        ]
