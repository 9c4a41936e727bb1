"""Reservations of words by threads, from a load-reserved to a store-conditional."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config.parts import OPTIONAL
from ...config.ranges import Integers, require_ranges
from ...emit.shared_block import SharedBlock

__all__ = [
    "LIFETIME",
    "ReservationSignature",
    "ReservationTable",
    "ReservationTableConfig",
]

#: Cycles after a load-reserved in which its store-conditional can write.
LIFETIME = 256


@dataclass(frozen=True, kw_only=True)
class ReservationTableConfig:
    """Size of a table of reservations.

    Parameters
    ----------
    entries : int
        Reservations at a time, as many as a warp has threads.
    columns : int
        Words that can be written in a cycle, each at a line of its own: subbanks of a bank.
    lines : int
        Words in each column.
    owners : int
        Threads.
    is_one_line : bool
        Whether all writes of a cycle are to one line, that of column 0.

    """

    entries: Annotated[int, Integers(1, 32)] = 8
    columns: Annotated[int, Integers(1, 64)] = 8
    lines: Annotated[int, Integers(1, 1 << 30)] = 1024
    owners: Annotated[int, Integers(1, 1 << 24)] = 256
    is_one_line: bool = field(default=False, metadata=OPTIONAL)

    def __post_init__(self):
        require_ranges(self)

    @property
    def word(self) -> dict[str, ShapeLike]:
        """Fields that select a word."""
        return {"column": ceil_log2(self.columns), "line": ceil_log2(self.lines)}

    @property
    def request(self) -> data.StructLayout:
        """Layout of a load-reserved or store-conditional of a thread."""
        fields = {"valid": 1, "reserves": 1, "owner": ceil_log2(self.owners)}
        return data.StructLayout(fields | self.word)

    @property
    def writes(self) -> data.ArrayLayout:
        """Layout of the writes of a cycle, one for each column."""
        return data.ArrayLayout(
            data.StructLayout({"valid": 1, "line": ceil_log2(self.lines)}), self.columns
        )


class ReservationSignature(wiring.Signature):
    """Requests to a table of reservations, seen from their source.

    Parameters
    ----------
    config : ReservationTableConfig

    Members
    -------
    request : Out(config.request)
        ``reserves`` is set for a load-reserved.
    writes : Out(config.writes)
    holds : In(1)
    busy : In(1)
        There is a reservation.
    """

    def __init__(self, config: ReservationTableConfig):
        super().__init__({
            "request": Out(config.request),
            "writes": Out(config.writes),
            "holds": In(1),
            "busy": In(1),
        })


class ReservationTable(SharedBlock):
    """Table of reservations: at most one for each thread, and `entries` in all.

    A load-reserved gives its thread a reservation from the next cycle on, in place of the one that
    it has. If the table is full in that cycle, or the word is written in it, none is given.
    `holds` is combinational: the thread of the request has reserved its word. A store-conditional
    ends the reservation of its thread, and a write those of its word, both from the next cycle on.
    A reservation ends `LIFETIME` cycles after its load-reserved at the latest. One request per
    cycle, never stalled. The clock must not stop while the table is `busy`, so that age counts
    cycles.

    Parameters
    ----------
    config : ReservationTableConfig

    Members are those of `ReservationSignature`, seen from the other side.
    """

    def __init__(self, config: ReservationTableConfig):
        self.config = config
        super().__init__(ReservationSignature(config).flip())

    def build(self, platform):
        m = Module()
        request, count = self.request, self.config.entries
        now = Signal(range(LIFETIME))
        m.d.sync += now.eq(now + 1)
        valid, owned, ended, chosen = (
            Signal(count, name=name) for name in ("valid", "owned", "ended", "chosen")
        )
        held = []
        for k in range(count):
            entry: Any = Signal(self.config.request, name=f"entry_{k}", reset_less=True)
            since = Signal(range(LIFETIME), name=f"since_{k}", reset_less=True)
            m.d.comb += [
                owned[k].eq(valid[k] & (entry.owner == request.owner)),
                ended[k].eq(self.is_written(entry) | (since == now) | (owned[k] & request.valid)),
            ]
            held.append(owned[k] & self.is_same_word(entry))
            with m.If(chosen[k]):
                m.d.sync += [entry.eq(request), since.eq(now)]
        free = ~valid
        gives = request.valid & request.reserves & ~self.is_written(request)
        place = Mux(owned.any(), owned, free & (~free + 1))
        m.d.comb += [
            chosen.eq(Mux(gives, place, 0)),
            self.holds.eq(Cat(held).any()),
            self.busy.eq(valid.any()),
        ]
        m.d.sync += valid.eq((valid & ~ended) | chosen)
        return m

    def is_written(self, word: data.View) -> Value:
        """Return whether a word is written in this cycle."""
        if self.config.is_one_line:
            valid = Cat(write.valid for write in self.writes)
            return valid.bit_select(word.column, 1) & (self.writes[0].line == word.line)
        if self.config.columns == 1:
            return self.writes[0].valid & (self.writes[0].line == word.line)
        return self.writes[word.column].valid & (self.writes[word.column].line == word.line)

    def is_same_word(self, entry: data.View) -> Value:
        """Return whether an entry is of the word of the request."""
        request = self.request
        return (entry.line == request.line) & (entry.column == request.column)
