"""One line of instructions that a warp has, or waits for."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from ..config import ClusterConfig
from ..core.front_layouts import pairs
from ..emit import SharedBlock
from .arbiter import lowest, select
from .path_layouts import core_of

__all__ = ["PAIR_BYTES", "WarpLine", "offset_width", "pair_width", "tag_width"]

#: Bytes of a request for instructions: two words.
PAIR_BYTES = 8


def offset_width(config: ClusterConfig) -> int:
    """Bits of a pair's number in its line."""
    return exact_log2(config.axi.beat_bytes // PAIR_BYTES)


def pair_width(config: ClusterConfig) -> int:
    """Bits of a pair's number in the buffer of its warp."""
    return ceil_log2(pairs(core_of(config)))


def tag_width(config: ClusterConfig) -> int:
    """Bits of an address that tell lines of one place apart: without pair, offset and parity."""
    return 32 - exact_log2(config.axi.beat_bytes) - 1


class WarpLine(SharedBlock):
    """Which line is here or being read, and the pairs of it that wait. Its words are elsewhere.

    What is told of the request that is looked up is combinational.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    here : In(1)
        The request that is looked up belongs to this place.
    tag, offset, pair : In
        The rest of its address, and its tag.
    hits : Out(1)
        Its line is here.
    joins : Out(1)
        Its line is being read; it waits for it from now on.
    free : Out(1)
        Its line may be read: neither, and nothing is under way.
    begin : In(1)
        It is being read from now on.
    filled : In(1)
        The line has come.
    invalidate : In(1)
        It is not kept, nor what is being read.
    replays : Out(1)
        The line is here and pairs still wait; the lowest is this:
    replay_offset, replay_pair : Out
    replayed : In(1)
        That one waits no more.
    busy : Out(1)
        Something is under way.
    """

    here: Signal
    tag: Signal
    offset: Signal
    pair: Signal
    hits: Signal
    joins: Signal
    free: Signal
    begin: Signal
    filled: Signal
    invalidate: Signal
    replays: Signal
    replay_offset: Signal
    replay_pair: Signal
    replayed: Signal
    busy: Signal

    def __init__(self, config: ClusterConfig):
        self.config = config
        super().__init__({
            "here": In(1),
            "tag": In(tag_width(config)),
            "offset": In(offset_width(config)),
            "pair": In(pair_width(config)),
            "hits": Out(1),
            "joins": Out(1),
            "free": Out(1),
            "begin": In(1),
            "filled": In(1),
            "invalidate": In(1),
            "replays": Out(1),
            "replay_offset": Out(offset_width(config)),
            "replay_pair": Out(pair_width(config)),
            "replayed": In(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = pairs(core_of(self.config))
        valid, pending = Signal(), Signal()
        doomed = Signal()  # what is being read is not to be kept
        tag = Signal.like(self.tag, reset_less=True)
        waiting, first = Signal(count), Signal(count)
        joining = Signal(count)
        same = Signal()
        m.d.comb += [
            same.eq(tag == self.tag),
            self.hits.eq(self.here & valid & same),
            self.joins.eq(self.here & pending & ~doomed & same),
            self.busy.eq(pending | waiting.any()),
            self.free.eq(self.here & ~self.busy & ~self.hits),
            joining.eq(Mux(self.joins | self.begin, C(1, count) << self.pair, 0)),
            self.replays.eq(waiting.any() & ~pending),
            first.eq(lowest(waiting)),
        ]
        m.d.sync += [
            waiting.eq((waiting & ~Mux(self.replayed, first, 0)) | joining),
            pending.eq((pending & ~self.filled) | self.begin),
            doomed.eq(self.invalidate | (doomed & ~self.begin)),
            valid.eq((valid | (self.filled & ~doomed)) & ~self.invalidate & ~self.begin),
        ]
        with m.If(self.begin):
            m.d.sync += tag.eq(self.tag)
        offsets = []
        for pair in range(count):
            offset = Signal.like(self.offset, name=f"offset_{pair}", reset_less=True)
            with m.If(joining[pair]):
                m.d.sync += offset.eq(self.offset)
            offsets.append(offset)
        m.d.comb += [
            self.replay_offset.eq(select(first, offsets)),
            self.replay_pair.eq(
                select(first, [C(n, pair_width(self.config)) for n in range(count)])
            ),
        ]
        return m
