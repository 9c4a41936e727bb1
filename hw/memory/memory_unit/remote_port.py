"""Port of one core to the shared memories of all clusters, for accesses through windows."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig, SharedPortConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import CLUSTER_WINDOW_BYTES, CLUSTER_WINDOWS
from ...lib.interfaces.remote_memory import RemoteSignature
from ...lib.one_hot import select
from ...lib.streams import Queue
from .layouts import group_layout, remote_layout, reply_layout

__all__ = ["RemotePort", "remote_flights"]


def remote_flights(config: SharedPortConfig) -> int:
    """Return the accesses of a core in flight, as many as one per cycle needs without stalls."""
    return config.read_latency + 4


class RemotePort(SharedBlock):
    """Remote port: performs accesses through windows in order, several of a cluster at a time.

    | cycle                    | event                                                          |
    |--------------------------|----------------------------------------------------------------|
    | 0                        | a group of one lane is accepted                                |
    | 1                        | `remote.request`, if none is before it; cycle 2 with a queue   |
    |                          | of more than 16 entries                                        |
    | 2                        | the next request to the same cluster                           |
    | n                        | `remote.response`                                              |
    | n + 1                    | the reply is at `o`                                            |

    Accesses take effect in the order of their groups. A request to another cluster waits until all
    replies before it were accepted; then it is offered 1 cycle later. Up to `remote_flights`
    accesses are in flight or wait for `o`, which may stall them. The queue holds every access that
    a core may have in flight. `i` is thus never refused, and a cluster that stalls an access delays
    no other work of the core than its accesses through windows.

    Parameters
    ----------
    config : MemoryUnitConfig
        With several clusters.

    Members
    -------
    i : In(stream.Signature(group_layout(config)))
        Groups of one lane each.
    remote : Out(RemoteSignature(config.shared, config.clusters))
    o : Out(stream.Signature(reply_layout(config)))
    busy : Out(1)
        Accesses wait or are in flight.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(group_layout(config))),
            "remote": Out(RemoteSignature(config.shared, config.clusters)),
            "o": Out(stream.Signature(reply_layout(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        flights = remote_flights(config.shared)
        flight_layout = data.StructLayout({
            name: reply_layout(config).members[name] for name in ("tag", "lanes")
        })
        m.submodules.waiting = waiting = Queue(remote_layout(config), config.core.lane_accesses)
        m.submodules.issued = issued = Queue(flight_layout, flights)
        m.submodules.words = words = Queue(32, flights)  # one for each issued access
        self.enter(m, waiting)
        first, flight = waiting.o.payload, issued.o.payload
        begins: Any = stream.Signature(flight_layout).create(path=("begins",))
        connect(m, begins, issued.i)
        arrived: Any = stream.Signature(32).create(path=("arrived",))
        connect(m, arrived, words.i)
        request = self.remote.request
        # Of the accesses in flight.
        cluster = Signal(len(first.cluster), reset_less=True)
        is_next = (first.cluster == cluster) | ~issued.level.any()
        goes = Signal()
        m.d.comb += [
            request.valid.eq(waiting.o.valid & begins.ready & is_next),
            request.payload.cluster.eq(first.cluster),
            request.payload.address.eq(Cat(C(0, exact_log2(WORD_BYTES)), first.place)),
            request.payload.write.eq(first.is_store),
            request.payload.data.eq(first.data),
            request.payload.mask.eq(first.mask),
            goes.eq(request.valid & request.ready),
            waiting.o.ready.eq(goes),
            begins.valid.eq(goes),
            *(begins.payload[name].eq(first[name]) for name in ("tag", "lanes")),
            arrived.valid.eq(self.remote.response.valid),
            arrived.payload.eq(self.remote.response.payload),
            self.o.valid.eq(words.o.valid),
            self.o.payload.word.eq(words.o.payload),
            *(self.o.payload[name].eq(flight[name]) for name in ("tag", "lanes")),
            words.o.ready.eq(self.o.ready),
            issued.o.ready.eq(self.o.valid & self.o.ready),
            self.busy.eq(waiting.level.any() | issued.level.any()),
        ]
        with m.If(goes):
            m.d.sync += cluster.eq(first.cluster)
        return m

    def enter(self, m: Module, waiting: Queue):
        """Put the lane of each group into the queue."""
        config, group = self.config, self.i.payload
        lanes = range(config.core.request_lanes)
        entering: Any = stream.Signature(remote_layout(config)).create(path=("entering",))
        connect(m, entering, waiting.i)
        # The beat is that of the only lane.
        window = group.beat[exact_log2(CLUSTER_WINDOW_BYTES // config.axi.beat_bytes) :]
        first = CLUSTER_WINDOWS // CLUSTER_WINDOW_BYTES
        access = entering.payload
        m.d.comb += [
            *(access[name].eq(group[name]) for name in ("tag", "is_store", "lanes")),
            access.cluster.eq(window - first),
            access.place.eq(select(group.lanes, [group.places[lane] for lane in lanes])),
            access.data.eq(select(group.lanes, [group.data[lane] for lane in lanes])),
            access.mask.eq(select(group.lanes, [group.strobes[lane] for lane in lanes])),
            entering.valid.eq(self.i.valid),
            self.i.ready.eq(entering.ready),
        ]
