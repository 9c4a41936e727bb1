"""MSHRs of an L2 slice, with their refill data."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....emit.shared_block import SharedBlock
from ....lib.streams import ResponseSignature
from ..layouts import L2SliceConfig, access_layout, operation_layout
from ..order_signatures import MshrOrderSignature
from ..signatures import InFlightSignature, MshrUpdateSignature
from .fetches import L2Fetches, fetch_layout
from .links import L2MshrLinks
from .mshr_states import L2MshrStates
from .refill import L2Refill, arrival_layout
from .retry_arbiter import L2RetryArbiter

__all__ = ["L2MshrFile"]


class L2MshrFile(SharedBlock):
    """MSHRs: hold reads until they are answered, fetch their lines, and issue retries and fills.

    | cycle | a read in an MSHR                                                          |
    |-------|----------------------------------------------------------------------------|
    | 0     | `take` and `settle`                                                        |
    | 1     | `fetch` of its line is offered                                             |
    | n     | the last beat arrives                                                      |
    | n + 2 | `again` is offered as a fill                                               |

    Reads of one id are answered in order: each is woken when its predecessor is chosen, and when
    that is answered. Ready MSHRs are served round-robin, one per cycle. The fill of a prefetched
    line is deferred (`L2MshrStates`), so that the first demand read of the line can claim it.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
        Operation that is looked up. The members below refer to it.
    stage : In(MshrUpdateSignature(config))
    in_flight : In(InFlightSignature(config))
    order : Out(MshrOrderSignature(config))
        To `L2Ids`.
    writeback_done : In(1)
        A write-back reached DRAM.
    room : Out(1)
        A read may be taken in the next cycle, whatever happens in this one.
    busy : Out(1)
        An MSHR is in use.
    again : Out(stream.Signature(operation_layout(config)))
    fetch : Out(stream.Signature(fetch_layout(config)))
    arrival : In(ResponseSignature(arrival_layout(config)))
    access : In(ResponseSignature(access_layout(config)))
        Read the data that arrived for the MSHR of an access.
    line : Out(8 * config.l2.line_bytes)
        That data, in the next cycle.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "stage": In(MshrUpdateSignature(config)),
            "in_flight": In(InFlightSignature(config)),
            "order": Out(MshrOrderSignature(config)),
            "writeback_done": In(1),
            "room": Out(1),
            "busy": Out(1),
            "again": Out(stream.Signature(operation_layout(config))),
            "fetch": Out(stream.Signature(fetch_layout(config))),
            "arrival": In(ResponseSignature(arrival_layout(config))),
            "access": In(ResponseSignature(access_layout(config))),
            "line": Out(8 * config.l2.line_bytes),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.states = states = L2MshrStates(config)
        m.submodules.fetches = fetches = L2Fetches(config)
        m.submodules.refill = refill = L2Refill(config)
        m.submodules.retries = retries = L2RetryArbiter(config)
        m.submodules.links = links = L2MshrLinks(config)
        parts = (states, fetches, retries, links)
        connect(m, flipped(self.lookup), *(part.lookup for part in parts))
        connect(m, flipped(self.stage), *(part.stage for part in parts))
        connect(m, flipped(self.in_flight), states.in_flight)
        connect(m, states.entry, fetches.entry, retries.entry, links.entry)
        connect(m, links.order, flipped(self.order))
        connect(m, links.successor, retries.successor)
        connect(m, states.retry, retries.states)
        connect(m, retries.pick, links.pick, refill.pick)
        connect(m, retries.again, flipped(self.again))
        connect(m, fetches.o, flipped(self.fetch))
        connect(m, fetches.begin, refill.begin)
        connect(m, flipped(self.arrival), refill.arrival)
        connect(m, refill.end, states.refill)
        connect(m, flipped(self.access), refill.access)
        m.d.comb += [
            states.is_oldest.eq(self.order.is_oldest),
            states.writeback_done.eq(self.writeback_done),
            states.wake.eq(links.wake),
            retries.ticket.eq(self.order.ticket),
            retries.codes.eq(refill.codes),
            self.line.eq(refill.line),
            self.room.eq(states.room),
            self.busy.eq(states.busy),
        ]
        return m
