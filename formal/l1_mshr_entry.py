"""Reference model of one MSHR, from its externally visible signals."""

from amaranth import *

from spica.hw.memory.l1.mshr_config import MshrConfig

__all__ = ["Entry"]


class Entry:
    """A line being read, and its waiters.

    Attributes
    ----------
    pending, waiting : Signal
        Whether beats are outstanding; the waiters, a bit each.
    line, beat, errors, forgotten : Signal
    way : Signal
        Way that its beats are written to, valid from the first beat on.

    """

    def __init__(self, config: MshrConfig, number: int):
        def signal(name, shape):
            return Signal(shape, name=f"{name}_{number}")

        cache = config.cache
        self.pending = signal("pending", 1)
        self.waiting = signal("waiting", config.waiters)
        self.line = signal("line", cache.line_width)
        self.beat = signal("beat", range(config.beats))
        self.errors = signal("errors", config.beats)
        self.forgotten = signal("forgotten", 1)
        self.way = signal("way", cache.ways)
        self.replayed = signal("replayed", config.waiters)
        self.begins, self.joins = signal("begins", 1), signal("joins", 1)
        self.filled = signal("filled", 1)
        self.set = self.line[: cache.set_width]
        self.live = self.pending | self.waiting.any()
        self.here = ~self.pending & self.waiting.any()
        self.has_way = self.here | (self.pending & (self.beat != 0))

    def step(self, m: Module, ports, waiter):
        """Update the model with the events of a cycle."""
        m.d.sync += self.waiting.eq(
            (self.waiting & ~self.replayed)
            | Mux(ports.is_demand & (self.joins | self.begins), waiter, 0)
        )
        with m.If(self.begins):
            m.d.sync += [
                self.pending.eq(1),
                self.line.eq(ports.line),
                self.beat.eq(0),
                self.errors.eq(0),
                self.forgotten.eq(ports.invalidate),
            ]
        with m.Elif(ports.invalidate):
            m.d.sync += self.forgotten.eq(1)
        with m.If(self.filled):
            m.d.sync += [
                self.beat.eq(self.beat + 1),
                self.errors.bit_select(self.beat, 1).eq(ports.error),
            ]
            with m.If(self.beat.all()):
                m.d.sync += self.pending.eq(0)
