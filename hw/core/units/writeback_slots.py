"""Writeback slots: order the results of a unit with two latencies."""

from dataclasses import dataclass

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...emit.component import Component

__all__ = ["LateResultSignature", "WritebackSlots", "WritebackSlotsConfig"]


@dataclass(frozen=True, kw_only=True)
class WritebackSlotsConfig:
    """Configuration of writeback slots.

    Parameters
    ----------
    latency : int
        Cycles of a late result, 2 or more.
    common : ShapeLike
        Fields known when the operation is accepted.
    value : ShapeLike
        The result itself.

    """

    latency: int
    common: ShapeLike
    value: ShapeLike

    def __post_init__(self):
        require_integer("latency", self.latency, 2, 16)

    @property
    def layout(self) -> data.StructLayout:
        """Layout of a result; ``value`` of a late result in flight is undefined."""
        return data.StructLayout({"common": self.common, "is_late": 1, "value": self.value})


class LateResultSignature(wiring.Signature):
    """Progress of the late results through their datapath.

    Members
    -------
    enable : Out(config.latency - 1)
        Bit k loads the k-th register stage of the late results.
    next_common : Out(config.common)
        Of the result in the second slot.
    late_value : In(config.value)
        The late result in the second slot.
    """

    def __init__(self, config: WritebackSlotsConfig):
        super().__init__({
            "enable": Out(config.latency - 1),
            "next_common": Out(config.common),
            "late_value": In(config.value),
        })


class WritebackSlots(Component):
    """Writeback slots: a pipeline that early results enter near its end, late ones at its start.

    There is one slot for each of `config.latency` cycles. The first slot is offered on `o`, and all
    others advance with it. A late result enters the last slot. An early one enters the first free
    slot, so it has a latency of one cycle unless late results are before it. Results never
    collide, and one is accepted in every cycle in which the pipeline moves: always, unless `o`
    stalls. Early results keep their order, and late ones theirs.

    The datapath of late results has a register for each slot except the first::

        cycle 0   i, is_late          enable[0]
        cycle 1   in the last slot    enable[1]
        cycle n   in the second slot  next_common, late_value
        cycle n+1 in the first slot   o

    Parameters
    ----------
    config : WritebackSlotsConfig

    Members
    -------
    i : In(stream.Signature(config.layout))
    late : Out(LateResultSignature(config))
    o : Out(stream.Signature(config.layout))

    """

    def __init__(self, config: WritebackSlotsConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(config.layout)),
            "late": Out(LateResultSignature(config)),
            "o": Out(stream.Signature(config.layout)),
        })

    def elaborate(self, platform):
        m = Module()
        latency = self.config.latency
        i, o = self.i, self.o
        is_occupied = Signal(latency)
        slots = [
            Signal(self.config.layout, name=f"slot_{k}", reset_less=True) for k in range(latency)
        ]

        moves = Signal()
        following = Signal(latency)  # slots that take the content of the next one
        free = Signal(latency)  # the first of the others, one-hot
        entering = Signal(latency)  # the slot that takes `i`, one-hot
        last = Const(1 << (latency - 1), latency)
        m.d.comb += [
            moves.eq(~is_occupied[0] | o.ready),
            following.eq(is_occupied >> 1),
            free.eq(~following & (following + 1)),
            entering.eq(Mux(i.payload.is_late, last, free) & i.valid.replicate(latency)),
            i.ready.eq(moves),
            o.valid.eq(is_occupied[0]),
            o.payload.eq(slots[0]),
        ]
        with m.If(moves):
            m.d.sync += is_occupied.eq(following | entering)
        for k in range(latency):
            entry = i.payload
            if k < latency - 1:
                entry = Mux(following[k], self.source(m, k, slots[k + 1]), i.payload)
            with m.If(moves & (following[k] | entering[k])):
                m.d.sync += slots[k].eq(entry)

        # The registers of late results, from the last slot to the second.
        arriving = [i.valid & i.payload.is_late]
        arriving += [following[k] & slots[k + 1].is_late for k in reversed(range(1, latency - 1))]
        m.d.comb += [
            self.late.enable.eq(Cat(arriving) & moves.replicate(latency - 1)),
            self.late.next_common.eq(slots[1].common),
        ]
        return m

    def source(self, m: Module, k: int, following: data.View):
        """Return the value that slot `k` takes from the next slot."""
        if k > 0:
            return following
        complete = Signal(self.config.layout, name="complete")
        m.d.comb += [
            complete.eq(following),
            complete.value.eq(Mux(following.is_late, self.late.late_value, following.value)),
        ]
        return complete
