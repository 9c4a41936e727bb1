"""Tests of the AXI4 multiplexer: every master gets its own responses, in order, under stalls."""

import random
from collections import deque

import pytest
from amaranth import EnableInserter, Module

from spica.hw.lib.axi import BURST_INCR
from spica.hw.lib.axi_mux import AxiMux, AxiMuxConfig
from spica.sim.engine.testbench import require_no_loop, simulate

CONFIG = AxiMuxConfig(id_widths=(4, 2, 3), data_width=64)
ONE = AxiMuxConfig(id_widths=(2,), data_width=64)
OUTPUTS = (
    *(
        f"{c}{name}"
        for c in ("ar", "aw")
        for name in ("id", "addr", "len", "size", "burst", "valid")
    ),
    *("wdata", "wstrb", "wlast", "wvalid", "rready", "bready"),
)
INPUTS = (
    *("arready", "awready", "wready", "rvalid", "rid", "rdata", "rresp", "rlast"),
    *("bvalid", "bid", "bresp"),
)


def test_it_converts():
    require_no_loop(AxiMux, CONFIG)


def test_masters_must_have_ids():
    with pytest.raises(ValueError, match="each of id_widths must be between 1 and 16, not 0"):
        AxiMuxConfig(id_widths=(0,), data_width=64)
    with pytest.raises(ValueError, match="masters must be between 1 and 256, not 0"):
        AxiMuxConfig(id_widths=(), data_width=64)


class Source:
    """Master that issues bursts and checks the responses."""

    def __init__(self, port, number: int, id_width: int, rng: random.Random, bursts: int):
        self.port, self.number, self.rng = port, number, rng
        self.ids = 1 << id_width
        self.left = {"ar": bursts, "aw": bursts}
        self.offers: dict[str, tuple | None] = {"ar": None, "aw": None, "w": None}
        self.beats: deque = deque()  # write data not yet offered
        self.expected: dict[tuple, deque] = {}  # expected responses in order, by (channel, id)
        self.ready = {"r": 0, "b": 0}

    @property
    def idle(self) -> bool:
        owed = any(self.expected.values())
        return not (any(self.left.values()) or any(self.offers.values()) or self.beats or owed)

    def drive(self) -> dict[str, int]:
        rng = self.rng
        for channel, back in (("ar", "r"), ("aw", "b")):
            if self.offers[channel] is None and self.left[channel] and rng.random() < 0.6:
                self.left[channel] -= 1
                name, length = rng.randrange(self.ids), rng.randrange(4)
                address = rng.randrange(1 << 20) * 64 | self.number << 28
                self.offers[channel] = (name, address, length)
                wanted = self.expected.setdefault((back, name), deque())
                if channel == "ar":
                    wanted += [(address + 8 * n, n == length) for n in range(length + 1)]
                else:
                    wanted.append(address)
                    self.beats += [(address + 8 * n, n == length) for n in range(length + 1)]
        if self.offers["w"] is None and self.beats and rng.random() < 0.7:
            self.offers["w"] = self.beats.popleft()
        self.ready = {channel: int(rng.random() < 0.7) for channel in "rb"}
        values = {f"{channel}ready": ready for channel, ready in self.ready.items()}
        for channel in ("ar", "aw"):
            name, address, length = self.offers[channel] or (0, 0, 0)
            values |= {f"{channel}id": name, f"{channel}addr": address, f"{channel}len": length}
            values[f"{channel}valid"] = self.offers[channel] is not None
        value, last = self.offers["w"] or (0, 0)
        values |= {"wdata": value, "wstrb": value & 0xFF, "wlast": last}
        return values | {"wvalid": self.offers["w"] is not None}

    def take(self, seen: dict[str, int]):
        for channel in ("ar", "aw", "w"):
            if self.offers[channel] is not None and seen[f"{channel}ready"]:
                self.offers[channel] = None
        if seen["rvalid"] and self.ready["r"]:
            wanted = self.expected["r", seen["rid"]].popleft()
            assert (seen["rdata"], seen["rlast"]) == wanted
        if seen["bvalid"] and self.ready["b"]:
            assert self.expected["b", seen["bid"]].popleft() >> 2 & 3 == seen["bresp"]


class Slave:
    """Slave that answers bursts: those of one ID in order, others in any order."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.reads: dict[int, deque] = {}
        self.writes: deque = deque()  # bursts: [id, address, missing beats]
        self.beats: deque = deque()
        self.replies: list = []
        self.driven = dict.fromkeys(INPUTS, 0)
        self.held: dict[str, tuple] = {}

    def step(self, seen: dict[str, int]) -> dict[str, int]:
        driven = self.driven
        for channel in ("ar", "aw", "w"):
            names = [name for name in OUTPUTS if name.startswith(channel) and name[-5:] != "valid"]
            payload = tuple(seen[name] for name in names if name in seen)
            if channel in self.held:
                assert seen[f"{channel}valid"] and payload == self.held.pop(channel)
            if seen[f"{channel}valid"] and not driven[f"{channel}ready"]:
                self.held[channel] = payload
        if seen["arvalid"] and driven["arready"]:
            assert (seen["arsize"], seen["arburst"]) == (3, BURST_INCR)
            beats = self.reads.setdefault(seen["arid"], deque())
            count = seen["arlen"] + 1
            beats += [(seen["araddr"] + 8 * n, n == count - 1) for n in range(count)]
        if seen["awvalid"] and driven["awready"]:
            self.writes.append([seen["awid"], seen["awaddr"], seen["awlen"] + 1])
        if seen["wvalid"] and driven["wready"]:
            self.beats.append((seen["wdata"], seen["wstrb"], seen["wlast"]))
        while self.writes and self.beats:
            burst, (value, strobes, last) = self.writes[0], self.beats.popleft()
            burst[2] -= 1
            assert last == (burst[2] == 0) and strobes == value & 0xFF
            assert value >> 6 == burst[1] >> 6, "data of another burst"
            if last:
                self.replies.append((burst[0], burst[1] >> 2 & 3))
                self.writes.popleft()
        return self.answer(seen)

    def answer(self, seen) -> dict[str, int]:
        rng, before = self.rng, self.driven
        chosen = {f"{channel}ready": int(rng.random() < 0.7) for channel in ("ar", "aw", "w")}
        if not before["rvalid"] or seen["rready"]:
            chosen["rvalid"] = 0
            waiting = [name for name, beats in self.reads.items() if beats]
            if waiting and rng.random() < 0.8:
                name = rng.choice(waiting)
                value, last = self.reads[name].popleft()
                chosen |= {"rvalid": 1, "rid": name, "rdata": value, "rlast": last, "rresp": 0}
        if not before["bvalid"] or seen["bready"]:
            chosen["bvalid"] = 0
            if self.replies and rng.random() < 0.8:
                name, code = self.replies.pop(0)
                chosen |= {"bvalid": 1, "bid": name, "bresp": code}
        self.driven = before | chosen
        return self.driven


@pytest.mark.parametrize("config", [CONFIG, ONE])
def test_all_get_what_is_theirs(config):
    rng = random.Random(7)
    dut = AxiMux(config)
    ports = [getattr(dut, f"i_{k}") for k in range(config.sources)]
    sources = [Source(port, k, config.id_widths[k], rng, 60) for k, port in enumerate(ports)]
    slave = Slave(rng)
    top = Module()
    top.submodules.dut = EnableInserter(dut.busy)(dut)

    async def bench(ctx):
        back = [getattr(port, name) for port in ports for name in INPUTS]
        out = [getattr(dut.o, name) for name in OUTPUTS]
        while not all(source.idle for source in sources):
            for source in sources:
                for name, value in source.drive().items():
                    ctx.set(getattr(source.port, name), value)
            _, _, *seen = await ctx.tick().sample(*back, *out)
            for k, source in enumerate(sources):
                part = seen[k * len(INPUTS) : (k + 1) * len(INPUTS)]
                source.take(dict(zip(INPUTS, part, strict=True)))
            answers = slave.step(dict(zip(OUTPUTS, seen[len(back) :], strict=True)))
            for name in INPUTS:
                ctx.set(getattr(dut.o, name), answers[name])
        for port in ports:
            ctx.set(port.rready, 0)
        await ctx.tick().repeat(2)
        assert not ctx.get(dut.busy)

    simulate(top, bench, timeout=4000)
