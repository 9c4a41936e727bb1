"""L1 instruction cache of a core."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.address_range import is_dram
from ...lib.interfaces.core_memory import fetch_request_layout, fetch_response_layout
from ...lib.streams import ResponseSignature
from .cluster_layouts import (
    PAIR_BYTES,
    instruction_cache_events,
    instruction_mshr_config,
    line_layout,
    read_layout,
)
from .data_array import DataArray
from .mshr_file import MshrFile, replay_layout
from .prefetcher import Prefetcher
from .refill import lookup_line, read_lines, take_beat
from .tag_array import TagArray

__all__ = ["InstructionCache"]


def lookup_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of a look-up: a request ``tag`` if ``is_demand``, else a prefetch.

    ``pair`` is the address, in pairs of instructions.
    """
    request = fetch_request_layout(config.core).members
    return data.StructLayout({
        "is_demand": 1,
        "tag": request["tag"],
        "pair": 32 - exact_log2(PAIR_BYTES),
    })


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
    read : Out(stream.Signature(read_layout(config)))
        First beat of a line. All beats of the line are to be read.
    line : In(ResponseSignature(line_layout(config)))
        Beats of one line in order, of several lines in any order.
    events : Out(instruction_cache_events())
    busy : Out(1)
        A request is in progress, or arrives.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        self.core = core = config.core
        self.mshr_config = instruction_mshr_config(config)
        super().__init__({
            "fetch": In(stream.Signature(fetch_request_layout(core))),
            "fetched": Out(ResponseSignature(fetch_response_layout(core))),
            "invalidate": In(1),
            "read": Out(stream.Signature(read_layout(config))),
            "line": In(ResponseSignature(line_layout(config))),
            "events": Out(instruction_cache_events()),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        m.submodules.tags = tags = TagArray(self.core.l1i)
        m.submodules.words = words = DataArray(self.mshr_config)
        m.submodules.mshr_file = mshr_file = MshrFile(self.mshr_config)
        lookup, lookup_valid = Signal(lookup_layout(self.config), reset_less=True), Signal()
        is_outside, is_served = self.connect_lookup(m, lookup, lookup_valid, tags, mshr_file)
        read_lines(m, mshr_file, self.line_of(lookup.pair), self.read)
        self.fill(m, tags, words, mshr_file)

        accepted, probed, proposed = Signal(), Signal(), Signal(self.core.l1i.line_width)
        leaves, is_idle, proposes = Signal(), Signal(), Signal()
        m.d.comb += [
            leaves.eq(~lookup.is_demand | is_served),
            is_idle.eq((~lookup_valid | leaves) & ~self.line.valid & ~tags.sweeping),
            self.fetch.ready.eq(is_idle & ~mshr_file.replay.valid & ~proposes),
            accepted.eq(self.fetch.valid & self.fetch.ready),
            proposes.eq(self.prefetch(m, lookup, lookup_valid, mshr_file, is_served, proposed)),
            probed.eq(proposes & is_idle),
        ]
        with m.If(leaves):
            m.d.sync += lookup_valid.eq(0)
        self.read_arrays(m, accepted, probed, proposed, tags, words, mshr_file)
        with m.If(accepted | probed):
            m.d.sync += [lookup_valid.eq(1), lookup.eq(self.request_of(accepted, proposed))]
        replayed = self.answer(m, lookup, lookup_valid, tags, words, mshr_file, is_outside)
        self.count_events(m, accepted, lookup_valid & ~leaves)
        m.d.comb += self.busy.eq(
            Cat(
                (self.fetch.valid, self.line.valid, lookup_valid, replayed, proposes),
                (tags.sweeping, mshr_file.busy),
            ).any()
        )
        return m

    def line_of(self, pair: Value) -> Value:
        """Return the line of a pair, given its address in pairs."""
        return pair[self.mshr_config.place_width :]

    def set_of(self, line: Value) -> Value:
        """Return the set of a line."""
        return line[: self.core.l1i.set_width]

    def request_of(self, accepted: Value, proposed: Value) -> Value:
        """Return the next look-up: the accepted request, else the proposed line."""
        request, first = self.fetch.payload, Cat(C(0, self.mshr_config.place_width), proposed)
        pair = request.address[exact_log2(PAIR_BYTES) :]
        return Cat(accepted, request.tag, Mux(accepted, pair, first))

    def read_arrays(self, m: Module, accepted, probed, proposed, tags, words, mshr_file):
        """Read the arrays for a request, the tags for a proposed line, or the word of a replay."""
        pair, replay = self.fetch.payload.address[exact_log2(PAIR_BYTES) :], mshr_file.replay
        replays = replay.valid
        fetch_set = Signal(self.core.l1i.set_width)
        m.d.comb += [
            fetch_set.eq(self.set_of(self.line_of(pair))),
            tags.read.eq(accepted | probed),
            tags.read_set.eq(Mux(probed, self.set_of(proposed), fetch_set)),
            # A beat of the same number may be written to other ways in this cycle.
            words.read.eq(Mux(replays, replay.payload.way, accepted.replicate(self.core.l1i.ways))),
            words.read_set.eq(Mux(replays, replay.payload.set, fetch_set)),
            words.read_place.eq(Mux(replays, replay.payload.place, pair)),
        ]

    def connect_lookup(self, m: Module, lookup, lookup_valid, tags, mshr_file):
        """Look up a line; return whether it is outside DRAM, and whether the look-up completes."""
        line, is_outside, is_served = self.line_of(lookup.pair), Signal(), Signal()
        present, tag = Signal(), lookup.tag
        lookup_line(m, mshr_file, tags, line)
        m.d.comb += [
            tags.invalidate.eq(self.invalidate),
            present.eq(tags.hits.any()),
            is_outside.eq(~is_dram(Cat(C(0, exact_log2(PAIR_BYTES)), lookup.pair))),
            mshr_file.lookup.eq(lookup_valid & ~is_outside),
            mshr_file.present.eq(present),
            mshr_file.is_demand.eq(lookup.is_demand),
            mshr_file.waiter.eq(Cat(tag.pair, tag.warp)),
            mshr_file.place.eq(lookup.pair),
            mshr_file.invalidate.eq(self.invalidate),
            is_served.eq(is_outside | present | mshr_file.joins | mshr_file.begins),
        ]
        return is_outside, is_served

    def fill(self, m: Module, tags, words, mshr_file):
        """Write arriving beats to the arrays."""
        fill = mshr_file.fill
        m.d.comb += [
            words.write.eq(take_beat(m, mshr_file, tags, self.line.valid, self.line.payload)),
            words.write_set.eq(self.set_of(fill.line)),
            words.write_beat.eq(fill.beat),
            words.write_data.eq(self.line.payload.data),
        ]

    def prefetch(
        self, m: Module, lookup, lookup_valid, mshr_file, is_served, proposed: Signal
    ) -> Value:
        """Return whether the line at `proposed` is to be looked up for a prefetch."""
        if not self.core.l1i.prefetch:
            return C(0, 1)
        m.submodules.prefetcher = prefetcher = Prefetcher(self.core.l1i)
        is_probe = lookup_valid & ~lookup.is_demand
        m.d.comb += [
            prefetcher.line.eq(self.line_of(lookup.pair)),
            prefetcher.trigger.eq(lookup.is_demand & (mshr_file.begins | mshr_file.first_use)),
            prefetcher.served.eq(is_probe & is_served),
            proposed.eq(prefetcher.proposed),
        ]
        return prefetcher.proposes & mshr_file.spare & ~is_probe

    def answer(self, m: Module, lookup, lookup_valid, tags, words, mshr_file, is_outside) -> Value:
        """Answer a hit or a replay; return whether a replay is answered.

        Never both, as no request is accepted in the cycle of a replay.
        """
        replayed = Signal(replay_layout(self.mshr_config), reset_less=True)
        replayed_valid = Signal()
        answers, answer, tag = Signal(), self.fetched.payload, self.fetched.payload.tag
        m.d.sync += [
            replayed_valid.eq(mshr_file.replay.valid),
            replayed.eq(mshr_file.replay.payload),
        ]
        m.d.comb += [
            answers.eq(lookup_valid & lookup.is_demand & (tags.hits.any() | is_outside)),
            self.fetched.valid.eq(answers | replayed_valid),
            words.way.eq(Mux(replayed_valid, replayed.way, tags.hits)),
            answer.data.eq(words.word),
            answer.error.eq(Mux(replayed_valid, replayed.error, is_outside)),
            Cat(tag.pair, tag.warp).eq(
                Mux(replayed_valid, replayed.waiter, Cat(lookup.tag.pair, lookup.tag.warp))
            ),
        ]
        return replayed_valid

    def count_events(self, m: Module, accepted: Signal, waits: Value):
        """Drive `events`; `waits`: the look-up stalls."""
        events, was_accepted = self.events, Signal()
        m.d.sync += was_accepted.eq(accepted)
        m.d.comb += [
            events.fetches.eq(accepted),
            # A request that waits for a line is never answered in the cycle after an acceptance.
            events.fetch_misses.eq(was_accepted & ~self.fetched.valid),
            events.lines_fetched.eq(self.read.valid & self.read.ready),
            events.entry_waits.eq(waits),
            events.bank_waits.eq(self.fetch.valid & ~self.fetch.ready & ~waits),
        ]
