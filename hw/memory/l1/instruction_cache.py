"""L1 instruction cache of a core."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.core_memory import fetch_request_layout, fetch_response_layout
from ...lib.streams import ResponseSignature
from .cluster_layouts import instruction_cache_events, instruction_mshr_config
from .data_array import DataArray
from .fetch_stages.fetch_arbiter import FetchArbiter
from .fetch_stages.fetch_lookup import FetchLookup
from .fetch_stages.fetch_response import FetchResponse
from .line_reads import LineReads
from .mshr_file import MshrFile
from .prefetcher import Prefetcher
from .refill import Refill
from .signatures import line_beat_layout, line_read_layout
from .tag_array import TagArray

__all__ = ["InstructionCache"]


class InstructionCache(SharedBlock):
    """L1 instruction cache: non-blocking, set-associative, with a next-line prefetcher.

    | cycle | a pair of instructions                                                     |
    |-------|----------------------------------------------------------------------------|
    | 0     | `fetch` is accepted                                                        |
    | 1     | `fetched`, if the cache hits or the address is not DRAM; one per cycle     |
    | 2     | else `read` of its line is offered, unless the line is in flight           |
    | n     | the last beat of the line arrives                                          |
    | n + 2 | `fetched`; one per cycle of all that wait for the line, in any order       |

    Requests after a miss proceed, with up to `mshrs` lines in flight. If no MSHR is free, the
    request stalls, and those after it. After a line that is missed, or prefetched and used for
    the first time, the next `prefetch` lines are read in cycles without a request. A line that
    cannot be read is answered with an error and not kept. No request is accepted in a cycle in
    which a beat arrives, or during a sweep: one cycle for each set, also after a reset.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    fetch : In(stream.Signature(fetch_request_layout(config.core)))
    fetched : Out(ResponseSignature(fetch_response_layout(config.core)))
    invalidate : In(1)
        Requests from the next cycle on read their lines anew, for all warps. The driver keeps the
        clock running in that cycle, as a core with a running warp does: `busy` does not cover it.
    read : Out(stream.Signature(line_read_layout(self.mshr_config)))
        First beat of a line. All beats of the line are to be read.
    line : In(ResponseSignature(line_beat_layout(self.mshr_config)))
        Beats of one line in order, of several lines in any order.
    events : Out(instruction_cache_events())
    busy : Out(1)
        A request is in progress, or arrives.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        self.mshr_config = mshr_config = instruction_mshr_config(config)
        super().__init__({
            "fetch": In(stream.Signature(fetch_request_layout(config.core))),
            "fetched": Out(ResponseSignature(fetch_response_layout(config.core))),
            "invalidate": In(1),
            "read": Out(stream.Signature(line_read_layout(mshr_config))),
            "line": In(ResponseSignature(line_beat_layout(mshr_config))),
            "events": Out(instruction_cache_events()),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, cache = self.config, self.config.core.l1i
        m.submodules.arbiter = arbiter = FetchArbiter(config)
        m.submodules.tags = tags = TagArray(cache)
        m.submodules.words = words = DataArray(self.mshr_config)
        m.submodules.lookup = lookup = FetchLookup(config)
        m.submodules.mshr_file = mshr_file = MshrFile(self.mshr_config)
        m.submodules.line_reads = line_reads = LineReads(self.mshr_config)
        m.submodules.refill = refill = Refill(self.mshr_config)
        m.submodules.response = response = FetchResponse(config)

        connect(m, flipped(self.fetch), arbiter.fetch)
        connect(m, arbiter.request, lookup.request)
        connect(m, arbiter.tags, tags.read)
        connect(m, arbiter.data, words.read)
        connect(m, lookup.state, arbiter.lookup)
        connect(m, lookup.tags, tags.lookup)
        connect(m, lookup.mshrs, mshr_file.lookup)
        connect(m, mshr_file.allocation, line_reads.i)
        connect(m, line_reads.o, flipped(self.read))
        connect(m, flipped(self.line), refill.beat)
        connect(m, refill.mshrs, mshr_file.refill)
        connect(m, refill.tags, tags.write)
        connect(m, refill.data, words.write)
        connect(m, lookup.hit, response.hit)
        connect(m, mshr_file.replay, response.replay)
        connect(m, response.read, arbiter.replay)
        connect(m, response.selection, words.selection)
        connect(m, response.fetched, flipped(self.fetched))
        if cache.prefetch:
            m.submodules.prefetcher = prefetcher = Prefetcher(cache)
            connect(m, lookup.prefetcher, prefetcher.lookup)
            connect(m, prefetcher.o, arbiter.proposal)
        m.d.comb += [
            arbiter.has_spare.eq(mshr_file.spare),
            arbiter.blocks.eq(self.line.valid | tags.sweeping),
            tags.invalidate.eq(self.invalidate),
            mshr_file.invalidate.eq(self.invalidate),
            self.busy.eq(
                Cat(
                    *(self.fetch.valid, self.line.valid, tags.sweeping, mshr_file.busy),
                    *(arbiter.busy, lookup.busy, response.busy),
                ).any()
            ),
        ]
        self.count_events(m, waits=~lookup.state.is_free)
        return m

    def count_events(self, m: Module, *, waits: Value):
        """Drive `events`; `waits`: the look-up stalls."""
        events, fetch, was_accepted = self.events, self.fetch, Signal()
        m.d.sync += was_accepted.eq(events.fetches)
        m.d.comb += [
            events.fetches.eq(fetch.valid & fetch.ready),
            # A request that waits for a line is never answered in the cycle after an acceptance.
            events.fetch_misses.eq(was_accepted & ~self.fetched.valid),
            events.lines_fetched.eq(self.read.valid & self.read.ready),
            events.entry_waits.eq(waits),
            events.bank_waits.eq(fetch.valid & ~fetch.ready & ~waits),
        ]
