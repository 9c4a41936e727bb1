"""Lane dispatch and lane gather: a warp through fewer lanes than it has threads.

`LaneDispatch` feeds the lanes of a unit and `LaneGather` collects their results. Both connect by
streams, so lanes may have any latency if they keep the order of beats. With one lane per thread
both are wires.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...emit.component import Component
from ...lib.one_hot import select

__all__ = ["BeatsConfig", "LaneDispatch", "LaneGather"]


@dataclass(frozen=True, kw_only=True)
class BeatsConfig:
    """Shape of a warp and its beats.

    Parameters
    ----------
    threads : int
        Threads of a warp, 1 to 32.
    lanes : int
        Threads of a beat, a divisor of `threads`.
    common : ShapeLike
        Payload common to all threads of a warp; repeated in each beat.
    per_thread : mapping of str to ShapeLike
        Payload of each thread, by name.

    """

    threads: int
    lanes: int
    common: ShapeLike
    per_thread: Mapping[str, ShapeLike]

    def __post_init__(self):
        require_integer("threads", self.threads, 1, 32)
        require_integer("lanes", self.lanes, 1, self.threads)
        if self.threads % self.lanes:
            raise ValueError(f"lanes must divide the {self.threads} threads, not be {self.lanes}")
        for name in {"common", "place"} & set(self.per_thread):
            raise ValueError(f"per_thread must not have a member named {name}, reserved for beats")

    @property
    def beats(self) -> int:
        """Beats of a warp."""
        return self.threads // self.lanes

    @property
    def warp_layout(self) -> data.StructLayout:
        """Layout of a whole warp: `common`, and an array over the threads per name."""
        return data.StructLayout({"common": self.common, **self.arrays(self.threads)})

    @property
    def part_layout(self) -> data.StructLayout:
        """Layout of a beat from the lanes: `common`, and an array over the lanes per name."""
        return data.StructLayout({"common": self.common, **self.arrays(self.lanes)})

    @property
    def beat_layout(self) -> data.StructLayout:
        """Layout of a beat to the lanes: `part_layout` and its ``place``.

        ``place`` is one-hot: bit k stands for threads ``k * lanes`` and up. Its last bit marks the
        last beat of a warp.
        """
        return data.StructLayout({
            "place": self.beats,
            "common": self.common,
            **self.arrays(self.lanes),
        })

    def arrays(self, length: int) -> dict[str, ShapeLike]:
        """Return the shape of an array of this length for each name of `per_thread`."""
        return {name: data.ArrayLayout(shape, length) for name, shape in self.per_thread.items()}


def moving_place(m: Module, config: BeatsConfig, moves: Value) -> Value:
    """Return the index of the next beat, one-hot; it advances after each cycle with `moves`."""
    if config.beats == 1:
        return Const(1, 1)
    place = Signal(config.beats, init=1)
    with m.If(moves):
        m.d.sync += place.eq(place.rotate_left(1))
    return place


class LaneDispatch(Component):
    """Lane dispatch: splits a warp into beats of lanes, lowest threads first.

    Latency 0: beats select from the payload of `i`, which is accepted with the last beat; one
    warp every `config.beats` cycles. `i.ready` follows `o.ready` in the same cycle. If a producer
    must not stall during the beats (an operand collector with slow lanes), put a `Queue` in
    front.

    Parameters
    ----------
    config : BeatsConfig

    Members
    -------
    i : In(stream.Signature(config.warp_layout))
    o : Out(stream.Signature(config.beat_layout))
        ``o.payload.common`` repeats that of the warp in each beat.

    """

    def __init__(self, config: BeatsConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(config.warp_layout)),
            "o": Out(stream.Signature(config.beat_layout)),
        })

    def elaborate(self, platform):
        m = Module()
        i, o = self.i, self.o
        place = moving_place(m, self.config, o.valid & o.ready)
        m.d.comb += [
            o.valid.eq(i.valid),
            o.payload.place.eq(place),
            o.payload.common.eq(i.payload.common),
            i.ready.eq(o.ready & place[-1]),
        ]
        for name in self.config.per_thread:
            threads, lanes = Value.cast(i.payload[name]), Value.cast(o.payload[name])
            width = len(lanes)
            groups = [threads[k * width : (k + 1) * width] for k in range(self.config.beats)]
            m.d.comb += lanes.eq(select(place, groups))
        return m


class LaneGather(Component):
    """Lane gather: reassembles a warp from its beats, in the order of `LaneDispatch`.

    Latency 0: the last beat completes the warp in its own cycle and stalls on `o`. Earlier beats
    are always accepted, into registers. One beat per cycle.

    Parameters
    ----------
    config : BeatsConfig
        ``common`` and ``per_thread`` describe results.

    Members
    -------
    i : In(stream.Signature(config.part_layout))
    o : Out(stream.Signature(config.warp_layout))
        ``o.payload.common`` is that of the last beat.

    """

    def __init__(self, config: BeatsConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(config.part_layout)),
            "o": Out(stream.Signature(config.warp_layout)),
        })

    def elaborate(self, platform):
        m = Module()
        i, o = self.i, self.o
        place = moving_place(m, self.config, i.valid & i.ready)
        m.d.comb += [
            o.valid.eq(i.valid & place[-1]),
            o.payload.common.eq(i.payload.common),
            i.ready.eq(o.ready | ~place[-1]),
        ]
        for name in self.config.per_thread:
            lanes, groups = Value.cast(i.payload[name]), []
            for beat in range(self.config.beats - 1):
                group = Signal(len(lanes), name=f"{name}_{beat}", reset_less=True)
                with m.If(i.valid & place[beat]):
                    m.d.sync += group.eq(lanes)
                groups.append(group)
            m.d.comb += Value.cast(o.payload[name]).eq(Cat(*groups, lanes))
        return m
