"""Tests of flattened streams: fields as separate ports, restored at the other side."""

import random

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from spica.hw.lib.probes import (
    FlattenedResponseSignature,
    FlattenedStreamSignature,
    flatten,
    unflatten,
)
from spica.hw.lib.streams import ResponseSignature
from spica.sim.engine.testbench import require_no_loop, simulate

LAYOUT = data.StructLayout({
    "tag": 5,
    "nothing": 0,
    "words": data.ArrayLayout(7, 3),
    "inner": data.StructLayout({"a": 1, "b": signed(4)}),
})


class RoundTrip(wiring.Component):
    """A stream and a response, flattened and restored."""

    def __init__(self):
        super().__init__({
            "i": In(stream.Signature(LAYOUT)),
            "o": Out(stream.Signature(LAYOUT)),
            "response": In(ResponseSignature(LAYOUT)),
            "response_out": Out(ResponseSignature(LAYOUT)),
        })

    def elaborate(self, platform):
        m = Module()
        for source, sink, signature in (
            (self.i, self.o, FlattenedStreamSignature(LAYOUT)),
            (self.response, self.response_out, FlattenedResponseSignature(LAYOUT)),
        ):
            port = signature.create()
            flatten(m, source, port)
            unflatten(m, port, sink)
        return m


def test_fields_without_bits_have_no_port():
    for signature in (FlattenedStreamSignature(LAYOUT), FlattenedResponseSignature(LAYOUT)):
        names = set(signature.members) - {"valid", "ready"}
        assert names == {"tag", "words", "inner"}
    assert "ready" not in FlattenedResponseSignature(LAYOUT).members
    assert FlattenedStreamSignature(LAYOUT).members["words"].shape == 21


def test_it_converts():
    require_no_loop(RoundTrip)


def test_payloads_and_handshakes_arrive_as_they_were():
    dut = RoundTrip()
    rng = random.Random(1)

    async def bench(ctx):
        extremes = [0, (1 << LAYOUT.size) - 1]
        for bits in [*extremes, *(rng.getrandbits(LAYOUT.size) for _ in range(30))]:
            valid, ready = rng.random() < 0.5, rng.random() < 0.5
            ctx.set(Value.cast(dut.i.payload), bits)
            ctx.set(Value.cast(dut.response.payload), bits ^ 1)
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.o.ready, ready)
            ctx.set(dut.response.valid, ready)
            assert ctx.get(Value.cast(dut.o.payload)) == bits
            assert ctx.get(Value.cast(dut.response_out.payload)) == bits ^ 1
            assert ctx.get(dut.o.valid) == valid
            assert ctx.get(dut.i.ready) == ready
            assert ctx.get(dut.response_out.valid) == ready
            await ctx.delay(1e-6)

    simulate(dut, bench, domains=())
