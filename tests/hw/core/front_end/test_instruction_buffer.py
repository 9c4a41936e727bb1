"""Tests of `hw.core.front_end.instruction_buffer`: every warp's instructions in address order."""

import random
from dataclasses import dataclass, field, replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.front_end.instruction_buffer import InstructionBuffer
from spica.hw.core.front_end_layouts import entry_layout, position_width
from spica.hw.core.layouts import decoded_layout
from spica.hw.isa.memory_map import ENTRY
from spica.hw.lib.interfaces.core_memory import pairs
from spica.sim.engine.testbench import require_no_loop, simulate

SMALL = CoreConfig(warps=3, threads=4)
ENTRY_WIDTH = entry_layout(SMALL).size


@dataclass
class Warp:
    """Golden model of one warp's buffer: instructions by address."""

    config: CoreConfig
    pc: int = ENTRY
    held: dict[int, int] = field(default_factory=dict)

    def room(self) -> list[int]:
        """Return addresses of pairs that may be pushed, in any order."""
        first = self.pc & ~7
        last = self.pc + 4 * self.config.instruction_buffer - 8
        return [pair for pair in range(first, last + 1, 8) if pair + 4 not in self.held]

    def head(self, number: int) -> int | None:
        """Return the bits of instruction `number` from the head, None if absent."""
        pc = self.pc + 4 * number
        if any(address not in self.held for address in range(self.pc, pc + 4, 4)):
            return None
        return pc | self.held[pc] << 32

    def push(self, pair: int, entries: list[int]) -> None:
        """Push the entries of a pair, except those before the head."""
        for k, entry in enumerate(entries):
            if pair + 4 * k >= self.pc:
                self.held[pair + 4 * k] = entry

    def take(self, count: int) -> None:
        """Take `count` instructions."""
        for _ in range(count):
            del self.held[self.pc]
            self.pc += 4

    def redirect(self, pc: int) -> None:
        """Clear the buffer and continue at `pc`."""
        self.pc = pc
        self.held.clear()


def test_layout_of_entries():
    """A decoded instruction is its pc and an entry, as in the model."""
    assert decoded_layout(SMALL)["pc"].offset == 0
    assert decoded_layout(SMALL).size == 32 + ENTRY_WIDTH


class Driver:
    """Driver of random pushes, takes and redirects."""

    def __init__(self, config, seed):
        self.config = config
        self.rng = random.Random(seed)
        self.warps = [Warp(config) for _ in range(config.warps)]
        self.dut = InstructionBuffer(config)
        self.active = (1 << config.warps) - 1
        self.issued = 0

    def compare(self, ctx) -> list[int]:
        """Compare every head; return the number of available instructions per warp."""
        dut, there = self.dut, []
        for number, warp in enumerate(self.warps):
            is_active = self.active >> number & 1
            shown = dut.warps[number].heads
            count = 0
            for k, port in enumerate(shown):
                bits, expected = ctx.get(port.as_value()), warp.head(k)
                assert bits & 1 == (is_active and expected is not None)
                if bits & 1:
                    assert bits >> 1 == expected
                    count += 1
            there.append(count)
            position = ctx.get(dut.positions[number])
            assert position == warp.pc // 4 % (1 << position_width(self.config))
        return there

    def push(self, ctx):
        """Push a pair, or none; return its warp, address and entries."""
        dut, rng = self.dut, self.rng
        number = rng.randrange(self.config.warps)
        room = self.warps[number].room()
        is_pushed = bool(room) and rng.random() < 0.8
        pair = rng.choice(room) if is_pushed else rng.getrandbits(32)
        entries = [rng.getrandbits(ENTRY_WIDTH) for _ in range(2)]
        ctx.set(dut.push.valid, is_pushed)
        shape = dut.push.payload.shape()
        place = pair // 8 % pairs(self.config)
        tag = shape["tag"].shape.const({"warp": number, "pair": place}).as_bits()
        bits = tag << shape["tag"].offset
        bits |= (entries[0] | entries[1] << ENTRY_WIDTH) << shape["entries"].offset
        ctx.set(dut.push.payload.as_value(), bits)
        return (self.warps[number], pair, entries) if is_pushed else None

    async def step(self, ctx):
        """Run one cycle."""
        dut, rng, config = self.dut, self.rng, self.config
        if rng.random() < 0.05:
            self.active = rng.getrandbits(config.warps)
            ctx.set(dut.active, self.active)
        there = self.compare(ctx)
        willing = [n for n, count in enumerate(there) if count and rng.random() < 0.5]
        second = bool(willing) and all(there[n] == 2 for n in willing) and rng.random() < 0.6
        for number, instructions in enumerate(dut.warps):
            ctx.set(instructions.take, number in willing)
            with_next = second if config.issue_width == 2 else rng.getrandbits(1)
            ctx.set(instructions.take_slot_1, with_next)
        pushed = self.push(ctx)
        target = rng.randrange(config.warps), ENTRY + 4 * rng.randrange(64)
        redirects = rng.random() < 0.05
        ctx.set(dut.redirect.valid, redirects)
        ctx.set(dut.redirect.payload, {"warp": target[0], "pc": target[1]})
        await ctx.tick()
        if pushed:
            pushed[0].push(*pushed[1:])
        for number in willing:
            self.warps[number].take(1 + second)
            self.issued += 1
        if redirects:
            self.warps[target[0]].redirect(target[1])


@pytest.mark.parametrize(
    "config",
    [
        *(
            replace(SMALL, instruction_buffer=depth, issue_width=issue_width)
            for depth in (2, 3, 4, 8)
            for issue_width in (1, 2)
        ),
        CoreConfig(),
        CoreConfig(warps=1, issue_width=2),
    ],
)
@pytest.mark.quick(1)
def test_matches_golden_model(config):
    driver = Driver(config, config.instruction_buffer)
    require_no_loop(driver.dut)

    async def bench(ctx):
        ctx.set(driver.dut.active, driver.active)
        for _ in range(200):
            await driver.step(ctx)

    simulate(driver.dut, bench)
    assert driver.issued > 15 * config.warps
