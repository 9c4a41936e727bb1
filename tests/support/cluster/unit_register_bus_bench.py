"""Bench of the unit register bus: units that stall, hosts, and cores with command words."""

import random
from collections import deque

from amaranth import Value

from spica.hw.cluster.unit_register_bus import UnitRegisterBus
from spica.hw.config import UnitRegisterBusConfig
from spica.hw.isa.memory_map import MATRIX_BASE, unit_bases
from spica.hw.lib.register_bus import register_request
from spica.sim.engine.testbench import simulate
from support.packing import Packing

__all__ = ["Asker", "Program", "Speaker", "Unit", "UnitRegisterBusBench", "answer_to"]


class Unit:
    """Unit behind its registers: stalls at random, logs each access, answers a hash of it."""

    def __init__(self, port, rng: random.Random, stall: float):
        self.rng, self.stall = rng, stall
        self.packing = Packing(register_request(8))
        self.samples = [port.request.valid, Value.cast(port.request.payload)]
        self.drives = [port.request.ready, port.response.valid, Value.cast(port.response.payload)]
        self.ready, self.held = 0, None
        self.log: list[tuple[int, int, int, int]] = []  # cycle, address, write, data

    def step(self, cycle: int, values) -> list[int]:
        valid, payload = values
        assert self.held is None or (valid and payload == self.held), "a refused offer changed"
        accepted = valid and self.ready
        self.held = payload if valid and not accepted else None
        answer = 0
        if accepted:
            request = self.packing.unpack(payload)
            access = request["address"], request["write"], request["data"]
            self.log.append((cycle, *access))
            answer = answer_to(*access)
        self.ready = int(self.rng.random() >= self.stall)
        return [self.ready, int(accepted), answer]


def answer_to(address: int, write: int, data: int) -> int:
    """Return the response of a unit as bits: the data, with the error bit above."""
    return int(address >= 0xC0) << 32 | (address * 0x01010101 ^ data ^ write) & 0xFFFF_FFFF


class Asker:
    """Requester (host or core): offers accesses one at a time, and checks response timing."""

    def __init__(self, port, width: int, accesses, rng: random.Random, stall: float):
        self.rng, self.stall, self.todo = rng, stall, deque(accesses)
        self.packing = Packing(register_request(width))
        self.samples = [port.request.ready, port.response.valid, Value.cast(port.response.payload)]
        self.drives = [port.request.valid, Value.cast(port.request.payload)]
        self.offered: tuple | None = None
        self.due: tuple | None = None
        self.answers: list[tuple[tuple, int]] = []
        self.waits: list[int] = []
        self.since = 0

    def step(self, cycle: int, values) -> list[int]:
        ready, valid, payload = values
        assert valid == (self.due is not None), "a response is not 1 cycle after its request"
        if self.due is not None:
            self.answers.append((self.due, payload))
            self.due = None
        assert self.offered is not None or not ready, "ready is high without a request"
        if self.offered is not None and ready:
            self.waits.append(cycle - self.since)
            self.due, self.offered = self.offered, None
        elif self.offered is None and self.todo and self.rng.random() >= self.stall:
            self.offered, self.since = self.todo.popleft(), cycle + 1
        if self.offered is None:
            return [0, 0]
        names = ("address", "write", "data")
        return [1, self.packing.pack(dict(zip(names, self.offered, strict=True)))]

    @property
    def done(self) -> bool:
        return not self.todo and self.offered is None and self.due is None


class Speaker:
    """Source of a core's command words."""

    def __init__(self, port, words, rng: random.Random, stall: float):
        self.rng, self.stall, self.todo = rng, stall, deque(words)
        self.samples, self.drives = [port.ready], [port.valid, port.payload]
        self.offered: int | None = None
        self.accepted: list[int] = []  # cycles

    def step(self, cycle: int, values) -> list[int]:
        if self.offered is not None and values[0]:
            self.accepted.append(cycle)
            self.offered = None
        elif self.offered is None and self.todo and self.rng.random() >= self.stall:
            self.offered = self.todo.popleft()
        return [int(self.offered is not None), self.offered or 0]

    @property
    def done(self) -> bool:
        return not self.todo and self.offered is None


class UnitRegisterBusBench:
    """Bench of `UnitRegisterBus` with units, a host for each of them, and cores."""

    def __init__(self, config: UnitRegisterBusConfig, seed: int, *, stall=0.0, holds=None):
        self.config, self.rng, self.stall = config, random.Random(seed), stall
        self.dut = dut = UnitRegisterBus(config)
        self.bases = unit_bases(config.matrices)
        self.units = {
            unit: Unit(port, self.rng, (holds or {}).get(unit, stall))
            for unit, port in zip(self.bases, dut.unit, strict=True)
        }
        self.hosts = {
            unit: Asker(port, 8, [], self.rng, stall)
            for unit, port in zip(self.bases, dut.host, strict=True)
        }
        self.cores = [Asker(port, 14, [], self.rng, stall) for port in dut.core]
        self.speakers = (
            [Speaker(port, [], self.rng, stall) for port in dut.command] if config.matrices else []
        )

    def run(self, *, cycles: int | None = None, timeout: int = 20_000):
        parts = [*self.units.values(), *self.hosts.values(), *self.cores, *self.speakers]

        async def bench(ctx):
            samples = [sample for part in parts for sample in part.samples]
            cycle = 0
            while cycle != cycles and not (cycles is None and self.done):
                _, _, *seen = await ctx.tick().sample(*samples)
                at = 0
                for part in parts:
                    values = seen[at : at + len(part.samples)]
                    at += len(part.samples)
                    drives = part.step(cycle, values)
                    for signal, value in zip(part.drives, drives, strict=True):
                        ctx.set(signal, value)
                cycle += 1

        simulate(self.dut, bench, timeout=timeout)

    @property
    def done(self) -> bool:
        waits = sum(len(unit.log) for unit in self.units.values()) < self.expected
        return not waits and all(
            a.done for a in [*self.hosts.values(), *self.cores, *self.speakers]
        )

    expected = 0


class Program:
    """One warp: command words and accesses to a register, strictly one after the other."""

    def __init__(self, core: Asker, speaker: Speaker, rng: random.Random, count: int):
        self.packing, self.rng = core.packing, rng
        self.samples, self.drives = core.samples + speaker.samples, core.drives + speaker.drives
        self.steps = [(rng.randrange(2), n) for n in range(count)]
        self.at, self.waits = 0, False

    @property
    def done(self) -> bool:
        return self.at == len(self.steps)

    def step(self, cycle: int, values) -> list[int]:
        ready, _, _, word_ready = values
        if self.waits and (word_ready if self.steps[self.at][0] else ready):
            self.at, self.waits = self.at + 1, False
        elif not self.waits and not self.done and self.rng.random() < 0.7:
            self.waits = True
        if not self.waits:
            return [0, 0, 0, 0]
        is_word, n = self.steps[self.at]
        if is_word:
            return [0, 0, 1, 1 << 5 | n << 8]
        return [1, self.packing.pack({"address": MATRIX_BASE + 0x110, "write": 1, "data": n}), 0, 0]
