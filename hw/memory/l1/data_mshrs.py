"""MSHR file of the L1 data cache, with a check of written lines and forwarding of beats."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...lib.one_hot import lowest, number_of
from ...lib.streams import ResponseSignature
from .mshr import MshrConfig
from .mshr_file import MshrFile

__all__ = ["DataMshrs"]


class DataMshrs(MshrFile):
    """MSHR file that checks written lines, and forwards each arriving beat to one request.

    `forward` is valid in the cycle of `filled`. The other requests for the beat stay until
    `replay`. The driver excludes a replay in a cycle of `filled` by `pause`.

    Parameters
    ----------
    config : MshrConfig
        Words are whole beats.

    Members
    -------
    written : In(config.cache.line_width)
    conflict : Out(1)
        Combinational: the line is being read, or a request still waits for it.
    forwards : In(1)
        The arriving beat may be forwarded.
    forward : Out(ResponseSignature(config.waiter_width))
        The lowest request that waits for the arriving beat, answered with it.
    waits : Out(1)
        Requests wait for a complete line: `replay` is valid unless `pause`.
    """

    def __init__(self, config: MshrConfig):
        super().__init__(
            config,
            written=In(config.cache.line_width),
            conflict=Out(1),
            forwards=In(1),
            forward=Out(ResponseSignature(config.waiter_width)),
            waits=Out(1),
        )

    def watch(self, m: Module, lines):
        m.d.comb += [
            self.conflict.eq(
                Cat(~line.free & (line.fill.line == self.written) for line in lines).any()
            ),
            self.waits.eq(Cat(line.replays for line in lines).any()),
        ]

    def forward_beat(self, m: Module, lines, places) -> list[Value]:
        waiting, here = Signal(self.config.waiters), Signal(self.config.waiters)
        beat = self.fill.beat
        with m.Switch(self.filled_entry):
            for number, line in enumerate(lines):
                with m.Case(number):
                    m.d.comb += waiting.eq(line.waiting)
        m.d.comb += [
            here.eq(waiting & Cat(place == beat for place in places)),
            self.forward.valid.eq(self.filled & self.forwards & here.any()),
            self.forward.payload.eq(number_of(lowest(here))),
        ]
        ended = Mux(self.forwards, lowest(here), 0)
        return [Mux(line.filled, ended, 0) for line in lines]
