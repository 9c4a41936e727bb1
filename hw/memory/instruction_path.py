"""From the instruction port of a core to DRAM, through a few lines for each warp."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..config import ClusterConfig
from ..core.front_layouts import fetch_request_layout, fetch_response_layout
from ..core.layouts import warp_shape
from ..emit import SharedBlock
from ..sram import Sram
from ..streams import ResponseSignature
from .arbiter import lowest, select
from .lane_groups import is_dram
from .path_layouts import core_of, line_layout, read_layout
from .warp_line import PAIR_BYTES, WarpLine, offset_width

__all__ = ["InstructionPath"]


class InstructionPath(SharedBlock):
    """Serve the instruction requests of a core, from two lines that each warp has.

    A line is a beat of the bus; a warp keeps one of even and one of odd number. A pair in such a
    line is answered in the cycle after its request. Else the line is read: the read is offered in
    the cycle after the request, and all pairs of it that are asked for meanwhile are answered
    one per cycle, the first 2 cycles after it came. A line of each warp and parity may be under
    way; a request for another in its place waits, and those behind it.

    Parameters
    ----------
    config : ClusterConfig
        With cores; a beat must have at least two words.

    Members
    -------
    fetch : In(stream.Signature(fetch_request_layout(config.core)))
    fetched : Out(ResponseSignature(fetch_response_layout(config.core)))
    invalidate : In(1)
        What is asked for from the next cycle on is read anew, for all warps.
    read : Out(stream.Signature(read_layout(config)))
    line : In(ResponseSignature(line_layout(config)))
        In any order.
    busy : Out(1)
        Something is under way, or comes in.
    """

    fetch: stream.Interface
    fetched: Any
    invalidate: Signal
    read: stream.Interface
    line: Any
    busy: Signal

    def __init__(self, config: ClusterConfig):
        self.config = config
        self.core = core = core_of(config)
        self.low = exact_log2(config.axi.beat_bytes)
        super().__init__({
            "fetch": In(stream.Signature(fetch_request_layout(core))),
            "fetched": Out(ResponseSignature(fetch_response_layout(core))),
            "invalidate": In(1),
            "read": Out(stream.Signature(read_layout(config))),
            "line": In(ResponseSignature(line_layout(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        layout = data.StructLayout({"data": config.axi.data_width, "error": 1})
        m.submodules.words = words = Sram(depth=2 << warp_shape(self.core), width=layout.size)
        lines = []
        for number in range(2 * self.core.warps):
            m.submodules[f"line_{number}"] = line = WarpLine(config)
            lines.append(line)
        self.fill(m, words, lines)

        asked, held = self.fetch.payload, Signal.like(self.fetch.payload, reset_less=True)
        held_valid = Signal()
        leaves, answers, is_outside = self.look(m, held, held_valid, lines)
        replays, replayed = self.replay(m, words, lines)
        m.d.comb += self.fetch.ready.eq((~held_valid | leaves) & ~replays & ~self.line.valid)
        with m.If(leaves):
            m.d.sync += held_valid.eq(0)
        with m.If(self.fetch.valid & self.fetch.ready):
            m.d.sync += [held_valid.eq(1), held.eq(asked)]
            m.d.comb += [words.read_enable.eq(1), words.read_address.eq(self.place(asked))]

        found, answer = Signal(layout), self.fetched.payload
        m.d.comb += [
            Value.cast(found).eq(words.read_data),
            # Never both: nothing is accepted in the cycle before `replayed`.
            self.fetched.valid.eq(answers | replayed.valid),
            answer.tag.eq(Mux(replayed.valid, replayed.tag, held.tag)),
            answer.data.eq(
                found.data.word_select(
                    Mux(replayed.valid, replayed.offset, self.offset(held)), 8 * PAIR_BYTES
                )
            ),
            answer.error.eq(Mux(answers & is_outside, 1, found.error)),
            self.busy.eq(
                Cat(
                    (self.fetch.valid, self.line.valid, held_valid, replayed.valid),
                    (line.busy for line in lines),
                ).any()
            ),
        ]
        return m

    def place(self, request) -> Value:
        """Return the number of the line that a request may be in."""
        return Cat(request.address[self.low], request.tag.warp)

    def offset(self, request) -> Value:
        """Return which pair of its line a request is for."""
        return request.address[exact_log2(PAIR_BYTES) : self.low]

    def fill(self, m: Module, words: Sram, lines):
        """Put what comes into its line."""
        came = self.line.payload
        m.d.comb += [
            words.write_mask.eq(self.line.valid),
            words.write_address.eq(came.id),
            words.write_data.eq(Cat(came.data, came.error)),
        ]
        for number, line in enumerate(lines):
            m.d.comb += [
                line.filled.eq(self.line.valid & (came.id == number)),
                line.invalidate.eq(self.invalidate),
            ]

    def look(self, m: Module, held, held_valid, lines):
        """Look for the held request's line; return whether it leaves, is answered, is refused."""
        leaves, answers, is_outside = Signal(), Signal(), Signal()
        hits, joins, free = (
            Cat(getattr(line, name) for line in lines).any() for name in ("hits", "joins", "free")
        )
        m.d.comb += [
            is_outside.eq(~is_dram(held.address)),
            answers.eq(hits | (held_valid & is_outside)),
            self.read.valid.eq(free),
            self.read.payload.id.eq(self.place(held)),
            self.read.payload.beat.eq(held.address[self.low :]),
            leaves.eq(answers | joins | (self.read.valid & self.read.ready)),
        ]
        for number, line in enumerate(lines):
            m.d.comb += [
                line.here.eq(held_valid & ~is_outside & (self.place(held) == number)),
                line.tag.eq(held.address[self.low + 1 :]),
                line.offset.eq(self.offset(held)),
                line.pair.eq(held.tag.pair),
                line.begin.eq(line.free & self.read.ready),
            ]
        return leaves, answers, is_outside

    def replay(self, m: Module, words: Sram, lines):
        """Answer what waited for lines that are here; return whether something does now."""
        waits = Cat(line.replays for line in lines)
        layout = fetch_request_layout(self.core).members["tag"]
        replayed = Signal(
            data.StructLayout({"valid": 1, "tag": layout, "offset": offset_width(self.config)})
        )
        first, replays, number = Signal(len(lines)), Signal(), Signal(range(len(lines)))
        m.d.comb += [
            first.eq(lowest(waits)),
            replays.eq(waits.any()),
            number.eq(select(first, [C(n, len(number)) for n in range(len(lines))])),
        ]
        with m.If(replays):
            m.d.comb += [words.read_enable.eq(1), words.read_address.eq(number)]
        m.d.comb += [line.replayed.eq(chosen) for line, chosen in zip(lines, first, strict=True)]
        m.d.sync += [
            replayed.valid.eq(replays),
            replayed.tag.warp.eq(number[1:]),
            replayed.tag.pair.eq(select(first, [line.replay_pair for line in lines])),
            replayed.offset.eq(select(first, [line.replay_offset for line in lines])),
        ]
        return replays, replayed
