"""Lane dispatch from a core to the narrow ports of shared memory."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.core_memory import data_response_layout
from ...lib.interfaces.shared_memory import NarrowSignature
from ...lib.one_hot import lowest, select
from ...lib.streams import ResponseSignature
from .layouts import group_layout

__all__ = ["SharedLanes"]


class SharedLanes(SharedBlock):
    """Lane dispatch: issues lane n of a group at port ``n mod ports``, lowest lanes first.

    | cycle                 | event                                                    |
    |-----------------------|----------------------------------------------------------|
    | 0                     | a group is accepted                                      |
    | 1                     | its lanes are offered; conflicting ones in later cycles  |
    | n, n + `read_latency` | lanes are accepted, and answered together                |

    The next group is accepted in the cycle in which the last lanes of a group are. If lanes of
    a group store to one word, each waits until the lower ones are accepted.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    i : In(stream.Signature(group_layout(config)))
    pause : In(1)
        No further group is accepted.
    port : Out(NarrowSignature(config.shared)).array(config.core.shared_ports)
    o : Out(ResponseSignature(data_response_layout(config.core)))
    busy : Out(1)
        Lanes wait or are in flight.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        self.ports = config.core.shared_ports
        super().__init__({
            "i": In(stream.Signature(group_layout(config))),
            "pause": In(1),
            "port": Out(NarrowSignature(config.shared)).array(self.ports),
            "o": Out(ResponseSignature(data_response_layout(config.core))),
            "busy": Out(1),
        })

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
        for p in range(self.ports):
            self.offer(m, p, group, left, taken, allowed)
        self.respond(m, group, left, taken)
        return m

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

    def offer(self, m: Module, p: int, group, left, taken, allowed):
        """Offer the lowest lane of a port."""
        mine = range(p, len(left), self.ports)
        first = Signal(len(mine), name=f"first_{p}")
        request = self.port[p].request
        places = select(first, [group.places[lane] for lane in mine])
        low = exact_log2(WORD_BYTES)
        m.d.comb += [
            first.eq(lowest(Cat(left[lane] for lane in mine))),
            request.valid.eq((first & Cat(allowed[lane] for lane in mine)).any()),
            request.payload.address.eq(Cat(C(0, low), places)),
            request.payload.write.eq(group.is_store),
            request.payload.data.eq(select(first, [group.data[lane] for lane in mine])),
            request.payload.mask.eq(select(first, [group.strobes[lane] for lane in mine])),
        ]
        for number, lane in enumerate(mine):
            m.d.comb += taken[lane].eq(first[number] & request.valid & request.ready)

    def respond(self, m: Module, group, left, taken):
        """Drive the response to lanes accepted `read_latency` cycles ago."""
        stages = [(group.tag, taken)]
        for stage in range(self.config.shared.read_latency):
            tag, lanes = stages[-1]
            later_tag = Signal(len(tag), name=f"tag_{stage}", reset_less=True)
            later_lanes = Signal(len(lanes), name=f"lanes_{stage}")
            m.d.sync += [later_tag.eq(tag), later_lanes.eq(lanes)]
            stages.append((later_tag, later_lanes))
        tag, lanes = stages[-1]
        under_way = Cat(answered.any() for _, answered in stages[1:])
        m.d.comb += [
            self.busy.eq(left.any() | under_way.any()),
            self.o.valid.eq(lanes.any()),
            self.o.payload.tag.eq(tag),
            self.o.payload.mask.eq(lanes),
        ]
        for lane in range(len(left)):
            port = self.port[lane % self.ports]
            m.d.comb += self.o.payload.data[lane].eq(port.response.payload)
