"""Tests of `writeback` alone, and together with the register banks."""

import gc
import random
from functools import partial

import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from spica.hw.config import CoreConfig
from spica.hw.core.layouts import read_layout
from spica.hw.core.operands.register_file import RegisterFile
from spica.hw.core.operands.register_map import request_layout
from spica.hw.core.operands.writeback import Writeback
from spica.hw.lib.interfaces.execution_unit import result_layout
from spica.hw.lib.streams import ResponseSignature
from spica.sim.engine.testbench import put, require_no_loop, simulate
from spica.synth.measure import measure

DEFAULT = CoreConfig()


class Registers(wiring.Component):
    """Writeback with its register banks, and one collector's port."""

    def __init__(self, config, sources):
        self.config, self.sources = config, sources
        layout = result_layout(config)
        super().__init__({
            "result": In(stream.Signature(layout)).array(sources),
            "bus": Out(ResponseSignature(layout)).array(config.writeback_buses),
            "request": In(stream.Signature(request_layout(config))),
            "data": Out(ResponseSignature(read_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.writeback = writeback = Writeback(self.config, self.sources)
        m.submodules.registers = registers = RegisterFile(self.config)
        for number in range(self.sources):
            wiring.connect(m, wiring.flipped(self.result[number]), writeback.result[number])
        for number in range(self.config.writeback_buses):
            wiring.connect(m, writeback.write[number], registers.write[number])
            wiring.connect(m, writeback.bus[number], wiring.flipped(self.bus[number]))
        wiring.connect(m, wiring.flipped(self.request), registers.request[0])
        wiring.connect(m, registers.data[0], wiring.flipped(self.data))
        return m


def random_result(rng, config):
    """Return the fields of a random result, with extreme values."""
    words = (0, 0xFFFF_FFFF, rng.getrandbits(32))
    return {
        "warp": rng.randrange(config.warps),
        "mask": rng.getrandbits(config.threads),
        "pc": rng.getrandbits(32),
        "rd": rng.randrange(1, 64),
        "writes": int(rng.random() < 0.9),
        "flags": rng.getrandbits(5),
        "values": [rng.choice(words) for _ in range(config.threads)],
    }


def fields(view):
    """Return a sampled result in the form of `random_result`."""
    names = ("warp", "mask", "pc", "rd", "writes", "flags")
    return {name: view[name] for name in names} | {"values": list(view["values"])}


@pytest.mark.parametrize("stall", [0.0, 0.6])
@pytest.mark.parametrize(("sources", "buses"), [(1, 1), (2, 3), (6, 2), (5, 4), (3, 1)])
@pytest.mark.quick(4)
def test_a_free_bus_takes_the_oldest_result(sources, buses, stall):
    """A result keeps its bus until it is written."""
    config = CoreConfig(warps=2, threads=2, writeback_buses=buses)
    rng = random.Random(f"{sources} {buses} {stall}")
    dut = require_no_loop(Writeback(config, sources))
    results = [dut.result[number] for number in range(sources)]
    outputs = [(dut.write[n], dut.bus[n]) for n in range(buses)]
    offered, since, held = [None] * sources, [0] * sources, [None] * buses

    async def bench(ctx):
        signals = [result.ready for result in results]
        for write, bus in outputs:
            signals += [write.valid, write.payload, bus.valid, bus.payload]
        for cycle in range(150):
            ready = [rng.random() >= stall for _ in range(buses)]
            for (write, _), willing in zip(outputs, ready, strict=True):
                ctx.set(write.ready, willing)
            for number, result in enumerate(results):
                if offered[number] is None and rng.random() >= stall:
                    offered[number], since[number] = random_result(rng, config), cycle
                    ctx.set(result.payload, offered[number])
                ctx.set(result.valid, offered[number] is not None)
            _, _, *sampled = await ctx.tick().sample(*signals)
            accepted, seen = sampled[:sources], sampled[sources:]
            waiting = [s for s, result in enumerate(offered) if result and s not in held]
            oldest = iter(sorted(waiting, key=since.__getitem__))
            chosen = [next(oldest, None) if source is None else source for source in held]
            held[:] = [None if done else s for s, done in zip(chosen, ready, strict=True)]
            written = {s for s, done in zip(chosen, ready, strict=True) if done}
            assert [bool(bit) for bit in accepted] == [s in written for s in range(sources)]
            for number, source in enumerate(chosen):
                valid, payload, shown, shown_payload = seen[4 * number : 4 * number + 4]
                assert valid == (source is not None)
                assert shown == (source is not None and ready[number])
                if source is not None:
                    assert fields(payload) == fields(shown_payload) == offered[source]
            for source in written - {None}:
                offered[source] = None

    simulate(dut, bench)


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize(
    "shape",
    [
        {"bank_mapping": "warp", "threads": 2, "banks": 4},
        {"bank_mapping": "thread", "threads": 5, "banks": 4},
        {"bank_mapping": "thread", "threads": 2, "banks": 8},
    ],
    ids=["wide", "parts", "more banks"],
)
@pytest.mark.quick(1)
def test_every_result_is_written_once_and_in_order(shape, stall):
    """Each source writes its own registers; the last value of each is read at the end."""
    config = CoreConfig(warps=2, collectors=1, **shape)
    sources, count = 3, 25
    dut = require_no_loop(Registers(config, sources))
    rng = random.Random(str(shape))
    sent = [[random_result(rng, config) for _ in range(count)] for _ in range(sources)]
    for source, results in enumerate(sent):
        for result in results:
            result["rd"] = 1 + source + 3 * rng.randrange(20)
    seen = []
    expected = [[[0] * config.threads for _ in range(64)] for _ in range(config.warps)]
    finished = []

    async def feed(ctx, source):
        port = dut.result[source]
        await put(ctx, port, sent[source], rng=random.Random(source), stall=stall)
        finished.append(source)

    async def watch(ctx):
        buses = [dut.bus[number] for number in range(config.writeback_buses)]
        signals = [signal for bus in buses for signal in (bus.valid, bus.payload)]
        while len(seen) < sources * count:
            _, _, *sampled = await ctx.tick().sample(*signals)
            for valid, payload in zip(sampled[::2], sampled[1::2], strict=True):
                if valid:
                    seen.append(fields(payload))

    async def read(ctx):
        while len(finished) < sources:
            await ctx.tick()
        for warp, registers in enumerate(expected):
            for number in range(1, 61):
                values = {}
                request = {"warp": warp, "register": number, "mask": ~0}
                ctx.set(dut.request.payload, request)
                ctx.set(dut.request.valid, 1)
                ready = False
                while not ready:
                    _, _, ready = await ctx.tick().sample(dut.request.ready)
                    if ready:
                        ctx.set(dut.request.valid, 0)
                    answer = ctx.get(dut.data.payload)
                    assert ctx.get(dut.data.valid)
                    values |= {t: answer["values"][t] for t in range(8) if answer.mask >> t & 1}
                assert [values[t] for t in range(config.threads)] == registers[number]

    for results in sent:
        for result in results:
            if result["writes"]:
                for thread in range(config.threads):
                    if result["mask"] >> thread & 1:
                        register = expected[result["warp"]][result["rd"]]
                        register[thread] = result["values"][thread]
    simulate(dut, *[partial(feed, source=source) for source in range(sources)], watch, read)
    for results in sent:
        assert [result for result in seen if result in results] == results


@pytest.mark.parametrize("writes", [0, 1])
def test_as_many_results_per_cycle_as_buses_without_delay(writes):
    """Different banks, or nothing to write: every source's result is taken when it is offered."""
    config = CoreConfig(warps=1, threads=2, banks=4, collectors=1, writeback_buses=2)
    dut = require_no_loop(Registers(config, 2))
    cycles = []

    async def feed(ctx, source):
        port = dut.result[source]
        ctx.set(port.valid, 1)
        for number in range(20):
            # Without writes both name one bank, which does not matter.
            rd = 4 + (number + source * writes) % 4
            ctx.set(port.payload, {"rd": rd, "writes": writes, "mask": 3})
            _, _, ready = await ctx.tick().sample(port.ready)
            cycles.append(ready)
        ctx.set(port.valid, 0)

    simulate(dut, partial(feed, source=0), partial(feed, source=1))
    assert cycles == [1] * 40


def test_two_buses_to_one_bank_take_turns():
    config = CoreConfig(warps=1, threads=1, banks=2, collectors=1, writeback_buses=2)
    dut = require_no_loop(Registers(config, 2))
    ends = {}

    async def feed(ctx, source):
        port = dut.result[source]
        payloads = [{"rd": 2 + 2 * n + 32 * source, "writes": 1, "mask": 1} for n in range(10)]
        ctx.set(port.valid, 1)
        cycle = 0
        for payload in payloads:
            ctx.set(port.payload, payload)
            ready = False
            while not ready:
                _, _, ready = await ctx.tick().sample(port.ready)
                cycle += 1
        ctx.set(port.valid, 0)
        ends[source] = cycle

    simulate(dut, partial(feed, source=0), partial(feed, source=1))
    assert ends == {0: 19, 1: 20}


@pytest.mark.filterwarnings("ignore:.*created but never used")
@pytest.mark.full
def test_no_source_is_refused():
    with pytest.raises(ValueError, match="sources must be at least 1, not 0"):
        Writeback(DEFAULT, 0)
    gc.collect()  # now, while its warning is ignored


@pytest.mark.full
def test_cells_and_depth():
    """Paths from the units through the buses to the banks and back must be short in total."""
    alone = measure(Writeback(DEFAULT, 6), "writeback")
    assert alone.cells <= 120
    both = measure(Registers(DEFAULT, 6), "registers")
    assert both.cells <= 550
    assert both.depth <= 40
