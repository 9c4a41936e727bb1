"""Dispatch from a core to shared memory: lanes to its narrow ports, rows to its row port."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.core_memory import data_response_layout
from ...lib.interfaces.shared_memory import NarrowSignature, RowSignature
from ...lib.one_hot import lowest, select
from ...lib.streams import ResponseSignature
from .beat_lanes import BeatConfig, BeatOfLanes, word_of
from .layouts import group_layout

__all__ = ["SharedLanes"]


class SharedLanes(SharedBlock):
    """Dispatch: issues a row at the row port, else lane n at narrow port ``n mod ports``.

    | cycle                 | event                                                    |
    |-----------------------|----------------------------------------------------------|
    | 0                     | a group is accepted                                      |
    | 1                     | its row, or its lowest lanes, are offered                |
    | n, n + `read_latency` | a row, or lanes, are accepted, and answered together     |

    The next group is accepted in the cycle in which the last lanes of a group are, so groups are
    accessed in order. If lanes of a group store to one byte, the highest lane wins: at narrow
    ports each waits until the lower ones of its word are accepted.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    i : In(stream.Signature(group_layout(config)))
    pause : In(1)
        No further group is accepted.
    port : Out(NarrowSignature(config.shared)).array(config.core.shared_ports)
    row : Out(RowSignature(config.shared, config.row_bytes))
        Only if `row_bytes` is not None.
    o : Out(ResponseSignature(data_response_layout(config.core)))
    busy : Out(1)
        Lanes wait or are in flight.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        self.ports = config.core.shared_ports
        members = {
            "i": In(stream.Signature(group_layout(config))),
            "pause": In(1),
            "port": Out(NarrowSignature(config.shared)).array(self.ports),
            "o": Out(ResponseSignature(data_response_layout(config.core))),
            "busy": Out(1),
        }
        if config.row_bytes is not None:
            members |= {"row": Out(RowSignature(config.shared, config.row_bytes))}
        super().__init__(members)

    def build(self, platform):
        m = Module()
        lanes = self.config.core.request_lanes
        group = Signal(group_layout(self.config), reset_less=True)
        left, taken, allowed = Signal(lanes), Signal(lanes), Signal(lanes)
        m.d.comb += [
            allowed.eq(self.allowed(group, left)),
            self.i.ready.eq(~(left & ~taken).any() & ~self.pause),
        ]
        m.d.sync += left.eq(left & ~taken)
        with m.If(self.i.ready):
            m.d.sync += [left.eq(Mux(self.i.valid, self.i.payload.lanes, 0))]
            m.d.sync += group.eq(self.i.payload)
        row_taken = self.offer_row(m, group, left) if self.has_rows else C(0, 1)
        for p in range(self.ports):
            self.offer(m, p, group, left, taken, allowed, row_taken)
        self.respond(m, group, left, taken)
        return m

    @property
    def has_rows(self) -> bool:
        """Whether there is a row port."""
        return self.config.row_bytes is not None

    def offer_row(self, m: Module, group, left) -> Value:
        """Offer the lanes of a row; return whether they are accepted."""
        size, request = self.config.row_bytes, self.row.request
        assert size is not None
        m.submodules.stored = stored = BeatOfLanes(BeatConfig(unit=self.config, size=size))
        # All lanes have the same row.
        row = select(group.lanes, group.places)[exact_log2(size // WORD_BYTES) :]
        m.d.comb += [
            stored.group.eq(group),
            request.valid.eq(group.is_row & left.any()),
            request.payload.address.eq(Cat(C(0, exact_log2(size)), row)),
            request.payload.write.eq(group.is_store),
            request.payload.data.eq(stored.data),
            request.payload.mask.eq(stored.strobes),
        ]
        return request.valid & request.ready

    def allowed(self, group, left) -> Value:
        """Return the lanes that may be issued now."""
        width = self.config.shared.address_width - exact_log2(WORD_BYTES)
        waits = []
        for lane in range(len(left)):
            lower = [
                left[n] & (group.places[n][:width] == group.places[lane][:width])
                for n in range(lane)
                if (lane - n) % self.ports  # one port serves its lanes in order anyway
            ]
            waits.append(group.is_store & Cat(lower).any() if lower else C(0, 1))
        return ~Cat(waits)

    def offer(self, m: Module, p: int, group, left, taken, allowed, row_taken):
        """Offer the lowest lane of a port, unless the lanes are a row."""
        mine = range(p, len(left), self.ports)
        first = Signal(len(mine), name=f"first_{p}")
        request = self.port[p].request
        places = select(first, [group.places[lane] for lane in mine])
        low = exact_log2(WORD_BYTES)
        is_row = group.is_row if self.has_rows else C(0, 1)
        m.d.comb += [
            first.eq(lowest(Cat(left[lane] for lane in mine))),
            request.valid.eq((first & Cat(allowed[lane] for lane in mine)).any() & ~is_row),
            request.payload.address.eq(Cat(C(0, low), places)),
            request.payload.write.eq(group.is_store),
            request.payload.data.eq(select(first, [group.data[lane] for lane in mine])),
            request.payload.mask.eq(select(first, [group.strobes[lane] for lane in mine])),
        ]
        for number, lane in enumerate(mine):
            accepted = first[number] & request.valid & request.ready
            m.d.comb += taken[lane].eq(accepted | (left[lane] & row_taken))

    def asked_layout(self) -> data.StructLayout:
        """Return the layout of accepted lanes: their tag, and of a row the word of each lane."""
        core, size = self.config.core, self.config.row_bytes
        fields: dict = {"tag": core.tag_width}
        if size is not None:
            word = exact_log2(size // WORD_BYTES)
            fields |= {"is_row": 1, "words": data.ArrayLayout(word, core.request_lanes)}
        return data.StructLayout(fields)

    def respond(self, m: Module, group, left, taken):
        """Drive the response to lanes accepted `read_latency` cycles ago."""
        layout = self.asked_layout()
        asked, lanes, under_way = Signal(layout, name="asked"), taken, []
        m.d.comb += asked.tag.eq(group.tag)
        if self.has_rows:
            m.d.comb += asked.is_row.eq(group.is_row)
            m.d.comb += [
                word.eq(place) for word, place in zip(asked.words, group.places, strict=True)
            ]
        for stage in range(self.config.shared.read_latency):
            later = Signal(layout, name=f"asked_{stage}", reset_less=True)
            later_lanes = Signal(len(lanes), name=f"lanes_{stage}")
            m.d.sync += [later.eq(asked), later_lanes.eq(lanes)]
            asked, lanes = later, later_lanes
            under_way.append(lanes.any())
        m.d.comb += [
            self.busy.eq(left.any() | Cat(under_way).any()),
            self.o.valid.eq(lanes.any()),
            self.o.payload.tag.eq(asked.tag),
            self.o.payload.mask.eq(lanes),
        ]
        for lane in range(len(left)):
            word = self.port[lane % self.ports].response.payload
            if self.has_rows:
                in_row = word_of(self.row.response.payload, asked.words[lane])
                word = Mux(asked.is_row, in_row, word)
            m.d.comb += self.o.payload.data[lane].eq(word)
