"""Dispatch from a core to shared memory: lanes to its narrow ports, rows to its row port."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.core_memory import data_response_layout
from ...lib.interfaces.shared_memory import NarrowSignature, RowSignature
from ...lib.one_hot import lowest, number_of, select
from ...lib.streams import ResponseSignature
from .beat_lanes import stored_beat, word_of
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
    ports each waits until the lower ones of its word are accepted. So do lanes of atomics, each of
    which sees those of the lower ones.

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
        left, granted, allowed = Signal(lanes), Signal(lanes), Signal(lanes)  # at narrow ports
        entering = Signal(lanes)
        row_left, row_granted = Signal(), Signal()
        is_row = self.i.payload.is_row if self.has_rows else C(0, 1)
        m.d.comb += [
            allowed.eq(self.allowed(m, left)),
            entering.eq(Mux(self.i.valid & ~is_row, self.i.payload.lanes, 0)),
        ]
        m.d.sync += left.eq(left & ~granted)
        if self.has_rows:
            m.d.sync += row_left.eq(row_left & ~row_granted)
        with m.If(self.i.ready):
            m.d.sync += [left.eq(entering), group.eq(self.i.payload)]
            if self.has_rows:
                m.d.sync += row_left.eq(self.i.valid & is_row)
        if self.has_rows:
            self.offer_row(m, group, row_left, row_granted)
        done = [
            self.offer(m, p, group, left, entering, granted, allowed) for p in range(self.ports)
        ]
        done.append(row_granted | ~row_left)
        m.d.comb += self.i.ready.eq(Cat(done).all() & ~self.pause)
        self.respond(m, group, left.any() | row_left, granted | Mux(row_granted, group.lanes, 0))
        return m

    @property
    def has_rows(self) -> bool:
        """Whether there is a row port."""
        return self.config.row_bytes is not None

    def offer_row(self, m: Module, group: data.View, row_left: Signal, row_granted: Signal):
        """Offer the lanes of a row."""
        size, request = self.config.row_bytes, self.row.request
        assert size is not None
        row_data, row_strobes = stored_beat(m, group, size)
        low, high = exact_log2(size), self.config.shared.address_width
        row = Signal(high - low, reset_less=True)
        with m.If(self.i.ready):
            # All lanes have the same row, selected before it is offered for a short path.
            place = select(self.i.payload.lanes, self.i.payload.places)
            m.d.sync += row.eq(place[exact_log2(size // WORD_BYTES) :])
        m.d.comb += [
            request.valid.eq(row_left),
            row_granted.eq(row_left & request.ready),
            request.payload.address.eq(Cat(C(0, low), row)),
            request.payload.write.eq(group.is_store),
            request.payload.data.eq(row_data),
            request.payload.mask.eq(row_strobes),
        ]

    def allowed(self, m: Module, left: Signal) -> Value:
        """Return the lanes that may be issued now.

        The lower lanes that change a lane's word are known from the group's acceptance on.
        """
        i = self.i.payload
        changes = i.is_store | i.atomic if self.config.core.atomics else i.is_store
        width = self.config.shared.address_width - exact_log2(WORD_BYTES)
        waits = []
        for lane in range(len(left)):
            # One port serves its lanes in order anyway.
            lower = [n for n in range(lane) if (lane - n) % self.ports]
            if not lower:
                waits.append(C(0, 1))
                continue
            before = Signal(len(lower), name=f"before_{lane}", reset_less=True)
            same = (i.places[n][:width] == i.places[lane][:width] for n in lower)
            with m.If(self.i.ready):
                m.d.sync += before.eq(Mux(changes, Cat(same), 0))
            waits.append((before & Cat(left[n] for n in lower)).any())
        return ~Cat(waits)

    def offer(
        self,
        m: Module,
        p: int,
        group: data.View,
        left: Signal,
        entering: Signal,
        granted: Signal,
        allowed: Signal,
    ) -> Value:
        """Offer the lowest lane of a port; return whether none is left after this cycle."""
        own = range(p, len(left), self.ports)
        first = Signal(len(own), name=f"first_{p}")
        place = Signal.like(group.places[0], name=f"place_{p}", reset_less=True)
        later, accepted = Signal(len(own), name=f"later_{p}"), Signal(name=f"accepted_{p}")
        request = self.port[p].request
        low = exact_log2(WORD_BYTES)
        m.d.comb += [
            later.eq(Cat(left[lane] for lane in own) & ~first),
            accepted.eq(request.valid & request.ready),
            request.valid.eq((first & Cat(allowed[lane] for lane in own)).any()),
            request.payload.address.eq(Cat(C(0, low), place)),
            request.payload.write.eq(group.is_store),
            request.payload.data.eq(select(first, [group.data[lane] for lane in own])),
            request.payload.mask.eq(select(first, [group.strobes[lane] for lane in own])),
        ]
        if self.config.core.atomics:
            m.d.comb += [
                *(request.payload[name].eq(group[name]) for name in ("atomic", "operation")),
                request.payload.expected.eq(select(first, [group.expected[lane] for lane in own])),
                request.payload.owner.eq(Cat(number_of(first), group.owner)),
            ]
        # The lane offered next and its address are selected in parallel with the grant.
        for goes, lanes, places in (
            (accepted, later, group.places),
            (self.i.ready, Cat(entering[lane] for lane in own), self.i.payload.places),
        ):
            chosen = lowest(lanes)
            with m.If(goes):
                m.d.sync += first.eq(chosen)
                m.d.sync += place.eq(select(chosen, [places[lane] for lane in own]))
        for number, lane in enumerate(own):
            m.d.comb += granted[lane].eq(first[number] & accepted)
        # Not from `granted`, as grants are known late.
        return ~first.any() | (~later.any() & accepted)

    def access_layout(self) -> data.StructLayout:
        """Return the layout of accepted lanes: their tag, and of a row the word of each lane."""
        core, size = self.config.core, self.config.row_bytes
        fields: dict = {"tag": core.tag_width}
        if size is not None:
            word = exact_log2(size // WORD_BYTES)
            fields |= {"is_row": 1, "words": data.ArrayLayout(word, core.request_lanes)}
        return data.StructLayout(fields)

    def respond(self, m: Module, group: data.View, waits: Value, granted: Value):
        """Drive `busy`, and the response to lanes accepted `read_latency` cycles ago."""
        layout = self.access_layout()
        access, lanes, under_way = Signal(layout, name="access"), granted, []
        m.d.comb += access.tag.eq(group.tag)
        if self.has_rows:
            m.d.comb += access.is_row.eq(group.is_row)
            m.d.comb += [
                word.eq(place) for word, place in zip(access.words, group.places, strict=True)
            ]
        for stage in range(self.config.shared.read_latency):
            later = Signal(layout, name=f"asked_{stage}", reset_less=True)
            later_lanes = Signal(len(lanes), name=f"lanes_{stage}")
            m.d.sync += [later.eq(access), later_lanes.eq(lanes)]
            access, lanes = later, later_lanes
            under_way.append(lanes.any())
        m.d.comb += [
            self.busy.eq(waits | Cat(under_way).any()),
            self.o.valid.eq(lanes.any()),
            self.o.payload.tag.eq(access.tag),
            self.o.payload.mask.eq(lanes),
        ]
        for lane in range(len(granted)):
            word = self.port[lane % self.ports].response.payload
            if self.has_rows:
                in_row = word_of(self.row.response.payload, access.words[lane])
                word = Mux(access.is_row, in_row, word)
            m.d.comb += self.o.payload.data[lane].eq(word)
