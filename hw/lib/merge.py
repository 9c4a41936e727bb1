"""Round-robin merge of several streams into one."""

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..emit.component import Component

__all__ = ["Merge"]


class Merge(Component):
    """Round-robin merge: the input served last has the lowest priority.

    Latency 1 cycle, one payload per cycle. A stalled payload stays at `o` unchanged. Order is
    kept within each input.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    inputs : int
        Number of inputs, 1 or more.

    Members
    -------
    i : In(stream.Signature(shape)).array(inputs)
    o : Out(stream.Signature(StructLayout({"payload": shape, "source": …})))
        The payload and the number of its input.
    """

    def __init__(self, shape: ShapeLike, inputs: int):
        if inputs < 1:
            raise ValueError(f"inputs must be at least 1, not {inputs!r}")
        self.inputs = inputs
        output = data.StructLayout({"payload": shape, "source": ceil_log2(inputs)})
        super().__init__({
            "i": In(stream.Signature(shape)).array(inputs),
            "o": Out(stream.Signature(output)),
        })

    def elaborate(self, platform):
        m = Module()
        valids = Cat(i.valid for i in self.i)
        served = Signal(range(self.inputs))
        choice = Signal(range(self.inputs))
        moves = Signal()
        m.d.comb += moves.eq(~self.o.valid | self.o.ready)

        with m.Switch(served):
            for last in range(self.inputs):
                with m.Case(last):
                    # The last assignment wins, so the input served last has the lowest priority.
                    for step in range(self.inputs, 0, -1):
                        candidate = (last + step) % self.inputs
                        with m.If(self.i[candidate].valid):
                            m.d.comb += choice.eq(candidate)

        for k, i in enumerate(self.i):
            m.d.comb += i.ready.eq(moves & i.valid & (choice == k))
        with m.If(moves):
            m.d.sync += self.o.valid.eq(valids.any())
            with m.Switch(choice):
                for k, i in enumerate(self.i):
                    with m.Case(k):
                        m.d.sync += self.o.payload.payload.eq(i.payload)
            with m.If(valids.any()):
                m.d.sync += [self.o.payload.source.eq(choice), served.eq(choice)]
        return m
